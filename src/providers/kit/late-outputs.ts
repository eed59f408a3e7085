import { type Placed, PlacedItems } from '../../domain/input-places.ts';
import type { CustomToolCallItem, FunctionCallItem, InputItem, ToolOutputPart } from '../../domain/items.ts';

/* For wires whose providers expect the outputs of calls right after the turn that made them. */

type Call = FunctionCallItem | CustomToolCallItem;

interface Output {
  call_id: string;
  output: string | ToolOutputPart[];
}

/** Output that the model reads until the actual one arrives. */
const PENDING = 'The output is not available yet. It follows later in the conversation.';

/**
 * Puts the outputs of calls right after the turn of the model that made them. An output that comes only after a later
 * turn, as with `async` functions, becomes a message of the user where it arrived, and its call gets a provisional
 * output. An output before its call moves behind it. A call without any output stays as it is, unless it is `async`.
 *
 * @returns the same list if each output follows its call; otherwise a list with noted places
 * @see docs/reference/tools.md#late-outputs, docs/reference/choices.md, choice 461
 */
export function settleLateOutputs(input: readonly InputItem[]): readonly InputItem[] {
  return isInOrder(input) ? input : new LateOutputs(moveEarlyOutputs(input)).settle();
}

/** Whether each turn is followed by the outputs of its calls, in the order of the calls: true of most conversations. */
function isInOrder(input: readonly InputItem[]): boolean {
  let open = 0; // calls of the current turn without an output so far
  let call = 0; // at or before the first of them
  let isAnswered = false; // whether the outputs of the current turn have begun
  for (let index = 0; index < input.length; index++) {
    const item = input[index]!;
    if (isCall(item)) {
      if (open === 0) call = index;
      else if (isAnswered) return false;
      open++;
      isAnswered = false;
    } else if (isOutput(item)) {
      if (open === 0) return false;
      while (!isCall(input[call]!)) call++;
      if ((input[call++] as Call).call_id !== item.call_id) return false;
      open--;
      isAnswered = true;
    } else if (open > 0 && (isAnswered || isOfUser(item))) return false;
  }
  return true;
}

/** Moves each output that is before its call behind the calls of that turn. @returns the same list if there is none */
function moveEarlyOutputs(input: readonly InputItem[]): readonly InputItem[] {
  const calls = new Map<string, number>();
  for (const [place, item] of input.entries())
    if (isCall(item) && !calls.has(item.call_id)) calls.set(item.call_id, place);
  const isEarly = (item: InputItem, place: number): item is InputItem & Output =>
    isOutput(item) && place < (calls.get(item.call_id) ?? 0);
  if (!input.some(isEarly)) return input;
  const moved = new PlacedItems();
  const early = new Map<string, Placed<InputItem>[]>();
  const due: Placed<InputItem>[] = []; // outputs of the calls just before
  for (const [place, item] of input.entries()) {
    if (isEarly(item, place)) {
      const others = early.get(item.call_id);
      if (others) others.push({ item, place });
      else early.set(item.call_id, [{ item, place }]);
      continue;
    }
    if (!isCall(item)) moved.addAll(due);
    moved.add(item, place);
    if (!isCall(item)) continue;
    for (const output of early.get(item.call_id) ?? []) due.push(output);
    early.delete(item.call_id);
  }
  moved.addAll(due);
  return moved.finish(input);
}

class LateOutputs {
  private readonly input: readonly InputItem[];
  private readonly settled = new PlacedItems();
  private isChanged = false;
  /** Calls of the current turn without an output so far, by id. */
  private readonly open = new Map<string, Placed<Call>>();
  /** Whether the outputs of the current turn have begun. */
  private isAnswered = false;
  /** Items of the user after the call, while an output can still follow. */
  private readonly said: Placed<InputItem>[] = [];
  /** Calls with a provisional output, by id. */
  private readonly late = new Map<string, Call>();
  /** Place of a call → place of its last output. Created at the first need: most outputs are in time. */
  private lastOutputs: Map<number, number> | undefined;

  constructor(input: readonly InputItem[]) {
    this.input = input;
  }

  settle(): readonly InputItem[] {
    const { length } = this.input;
    for (let index = 0; index < length; index++) this.take(this.input[index]!, index);
    if (this.said.length > 0) this.endTurn(length);
    return this.isChanged ? this.settled.finish(this.input) : this.input;
  }

  private take(item: InputItem, index: number): void {
    if (isOutput(item)) {
      this.takeOutput(item, index);
      return;
    }
    if (isOfUser(item)) {
      if (this.open.size > 0) this.said.push({ item, place: index });
      else this.settled.add(item, index);
      this.isAnswered = true;
      return;
    }
    if (this.isAnswered) this.endTurn(index);
    if (isCall(item)) this.open.set(item.call_id, { item, place: index });
    this.settled.add(item, index);
  }

  private takeOutput(item: InputItem & Output, place: number): void {
    const call = this.open.delete(item.call_id) ? undefined : this.late.get(item.call_id);
    if (call) {
      const message = writeLate(call, item);
      if (this.open.size > 0) this.said.push({ item: message, place });
      else this.settled.add(message, place);
      return;
    }
    if (this.said.length > 0) this.isChanged = true; // it moves up
    this.isAnswered = true;
    this.settled.add(item, place);
    if (this.open.size === 0) this.settled.addAll(this.said);
  }

  /** @param index of the first item after the turn */
  private endTurn(index: number): void {
    for (const { item: call, place } of this.open.values()) {
      const { type, call_id } = call;
      if (call.async !== true && (this.findLastOutput(place) ?? -1) <= index) continue;
      this.late.set(call_id, call);
      this.isChanged = true;
      this.settled.add({ type: `${type}_output`, call_id, output: PENDING } as InputItem, place); // of its kind
    }
    this.open.clear();
    this.isAnswered = false;
    this.settled.addAll(this.said);
  }

  /** Finds the last output of a call. An output after a later call with the same id belongs to that one. */
  private findLastOutput(place: number): number | undefined {
    this.lastOutputs ??= listLastOutputs(this.input);
    return this.lastOutputs.get(place);
  }
}

function listLastOutputs(input: readonly InputItem[]): Map<number, number> {
  const found = new Map<number, number>();
  const last = new Map<string, number>(); // call id → the last output before the next call with this id
  for (let place = input.length - 1; place >= 0; place--) {
    const item = input[place]!;
    if (isOutput(item)) {
      if (!last.has(item.call_id)) last.set(item.call_id, place);
    } else if (isCall(item)) {
      const output = last.get(item.call_id);
      if (output !== undefined) found.set(place, output);
      last.delete(item.call_id);
    }
  }
  return found;
}

function writeLate({ name }: Call, { output }: Output): InputItem {
  const head = `[Output of the earlier call of ${name}]`;
  if (typeof output === 'string') return { type: 'message', role: 'user', content: `${head}\n${output}` };
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text: head }, ...output] };
}

const isCall = (item: InputItem): item is Call => item.type === 'function_call' || item.type === 'custom_tool_call';

const isOutput = (item: InputItem): item is InputItem & Output =>
  item.type === 'function_call_output' || item.type === 'custom_tool_call_output';

/** Whether the item ends the turn of the model. */
const isOfUser = (item: InputItem): boolean =>
  item.type === 'agent_message' || (item.type === 'message' && (item as { role?: string }).role !== 'assistant');
