import type {
  Chunk,
  FinishChunk,
  ItemChunk,
  ItemDoneChunk,
  ItemKey,
  PartDoneChunk,
  TextChunk,
  ToolCallArgumentsChunk,
} from '../../../domain/chunks.ts';
import { writeSearchCall } from '../../../domain/client-search.ts';
import type { OutputItem } from '../../../domain/items.ts';
import { parseObject } from '../../../domain/parse-object.ts';
import { createInputReader, type InputReader } from '../../kit/custom-input.ts';
import type { OfferedTools } from '../../kit/offered-tools.ts';
import type { TextWire } from '../../text-wire.ts';
import type { Reader } from '../../wire.ts';

/** What a fitted request changed, for the response to it: the client sees its own names. */
export interface Restore {
  /** Texts that end the output, which the server did not get. */
  readonly stops?: readonly string[];
  /** Name of a tool at the server → name of the client, for items of a native wire. */
  readonly names?: ReadonlyMap<string, string>;
  /** Function at the server → tool of the client, for calls in items of a native wire. */
  readonly offered?: OfferedTools;
  /** Name of the tool of the client → name of a property at the server → name of the client. */
  readonly properties?: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** The function that stands for the search of the client, whose calls are items of another kind. */
  readonly search?: string;
}

/** Returns the reading half of a wire whose responses have the names of the client. */
export const restoringWire = (
  text: TextWire,
  restore: Restore,
): Pick<TextWire, 'createReader' | 'readWhole' | 'countWhole'> => ({
  createReader: (context) => restoreReader(text.createReader(context), restore),
  readWhole: (body, context) => new RestoringPass(restore).push(text.readWhole(body, context)),
  ...(text.countWhole && { countWhole: text.countWhole }),
});

/** Returns a reader whose chunks have the names of the client and end at its stop texts. */
function restoreReader(reader: Reader, restore: Restore): Reader {
  const pass = new RestoringPass(restore);
  const restored: Reader = {
    read: (frame) => pass.push(reader.read(frame)),
    end: () => pass.push(reader.end()),
  };
  const { counted, keptLength } = reader;
  if (counted) restored.counted = () => counted.call(reader);
  restored.keptLength = () => (keptLength?.call(reader) ?? 0) + pass.keptLength;
  return restored;
}

class RestoringPass {
  private readonly restore: Restore;
  private readonly stops: readonly string[];
  /** Text that may be the beginning of a stop text. */
  private held = '';
  private isStopped = false;
  /** The stop text at which the output ended. */
  private stopText = '';
  /** The text of the part in progress that was passed on, and the item that has it. */
  private shown = '';
  private key: ItemKey | undefined;
  private endedParts = false;
  private isEnded = false;
  /** Call id → its tool and its arguments so far, for tools with other property names. */
  private readonly calls = new Map<string, { names: ReadonlyMap<string, string>; chunk?: ToolCallArgumentsChunk }>();
  /** Item → the text in the arguments of a call of a custom tool. */
  private readonly inputs = new Map<ItemKey, InputReader>();
  /** Call id → the arguments so far, for searches of the client. */
  private readonly searches = new Map<string, string>();
  keptLength = 0;

  constructor(restore: Restore) {
    this.restore = restore;
    this.stops = restore.stops ?? [];
  }

  push(chunks: readonly Chunk[]): Chunk[] {
    const out: Chunk[] = [];
    for (const chunk of chunks) this.add(chunk, out);
    return out;
  }

  private add(chunk: Chunk, out: Chunk[]): void {
    switch (chunk.type) {
      case 'text':
        if (this.stops.length === 0) break;
        this.addText(chunk, out);
        return;
      case 'part_done':
        if (this.stops.length === 0 || chunk.part.type !== 'output_text') break;
        this.endPart(chunk, out);
        return;
      case 'item':
      case 'item_done': {
        const item = this.restoreItem(chunk, out);
        if (this.stops.length === 0 || chunk.type === 'item') {
          if (!this.isStopped) out.push({ ...chunk, item });
        } else this.endItem({ ...chunk, item }, out);
        return;
      }
      case 'tool_call': {
        if (chunk.name === this.restore.search) {
          this.searches.set(chunk.callId, '');
          return;
        }
        const names = this.restore.properties?.get(chunk.name);
        if (names) this.calls.set(chunk.callId, { names });
        break;
      }
      case 'tool_call_arguments': {
        const input = chunk.key === undefined ? undefined : this.inputs.get(chunk.key)?.push(chunk.delta);
        if (input !== undefined) {
          if (input !== '' && !this.isStopped) out.push({ ...chunk, delta: input });
          return;
        }
        const searched = this.searches.get(chunk.callId);
        if (searched !== undefined) {
          this.searches.set(chunk.callId, searched + chunk.delta);
          this.keptLength += chunk.delta.length;
          return;
        }
        const call = this.calls.get(chunk.callId);
        if (!call) break;
        call.chunk = call.chunk ? { ...call.chunk, delta: call.chunk.delta + chunk.delta } : chunk;
        this.keptLength += chunk.delta.length;
        return;
      }
      case 'finish':
        this.flush(out);
        for (const { names, chunk: held } of this.calls.values()) {
          if (held) out.push({ ...held, delta: renameProperties(held.delta, names) });
        }
        for (const [callId, text] of this.searches) {
          const item = writeSearchCall(callId, text);
          out.push({ type: 'item', key: callId, item: { ...item, status: 'in_progress' } });
          out.push({ type: 'item_done', key: callId, item: { ...item, status: 'completed' } });
        }
        out.push(this.isStopped ? stopAt(chunk, this.stopText) : chunk);
        return;
      default:
    }
    if (!this.isStopped || chunk.type === 'start') out.push(chunk);
  }

  /** Passes text up to the first stop text. What may be the beginning of one waits for more. */
  private addText(chunk: TextChunk, out: Chunk[]): void {
    if (this.isStopped) return;
    const text = this.held + chunk.delta;
    this.key = chunk.key;
    const end = this.findStop(text);
    if (end !== -1) {
      this.isStopped = true;
      this.show(text.slice(0, end), out);
      this.held = '';
      return;
    }
    const kept = Math.max(...this.stops.map((stop) => overlap(text, stop)));
    this.held = text.slice(text.length - kept);
    this.show(text.slice(0, text.length - kept), out);
  }

  private show(delta: string, out: Chunk[]): void {
    if (delta === '') return;
    this.shown += delta;
    out.push(this.key === undefined ? { type: 'text', delta } : { type: 'text', delta, key: this.key });
  }

  /** Passes the text that waits, because no more follows. */
  private flush(out: Chunk[]): void {
    if (!this.isStopped) this.show(this.held, out);
    this.held = '';
  }

  private findStop(text: string): number {
    let end = -1;
    for (const stop of this.stops) {
      const at = text.indexOf(stop);
      if (at === -1 || (end !== -1 && at >= end)) continue;
      end = at;
      this.stopText = stop;
    }
    return end;
  }

  /** Ends a part of a native item with the text that was shown. */
  private endPart(chunk: PartDoneChunk, out: Chunk[]): void {
    if (this.isStopped && this.endedParts) return;
    this.flush(out);
    const text = String(chunk.part['text'] ?? '');
    const end = this.isStopped ? -1 : this.findStop(text);
    if (end !== -1) this.isStopped = true;
    const kept = this.shown !== '' ? this.shown : end === -1 ? text : text.slice(0, end);
    out.push(this.isStopped ? { ...chunk, part: { ...chunk.part, text: kept } } : chunk);
    if (this.isStopped) this.endedParts = true;
    else this.shown = '';
  }

  /** Ends a native item: a message has its text up to the stop text, and nothing follows it. */
  private endItem(chunk: ItemDoneChunk, out: Chunk[]): void {
    if (this.isEnded) return;
    const { item } = chunk;
    const content = item['content'];
    if (item.type !== 'message' || !Array.isArray(content)) {
      if (!this.isStopped) out.push(chunk);
      return;
    }
    const kept: unknown[] = [];
    for (const part of content as { type?: string; text?: unknown }[]) {
      const text = typeof part.text === 'string' && part.type === 'output_text' ? part.text : undefined;
      const end = text === undefined ? -1 : this.findStop(text);
      kept.push(end === -1 ? part : { ...part, text: text!.slice(0, end), annotations: [] });
      if (end === -1) continue;
      this.isStopped = true;
      this.isEnded = true;
      break;
    }
    out.push(this.isEnded ? { ...chunk, item: { ...item, content: kept } } : chunk);
  }

  /** Gives a call the name and the kind of the client's tool. */
  private restoreItem({ type, key, item }: ItemChunk | ItemDoneChunk, out: Chunk[]): OutputItem {
    const name = this.restore.names?.get(String(item['name']));
    const named = name === undefined ? item : { ...item, name };
    const tool = this.restore.offered?.get(String(named['name']));
    if (tool === undefined || named.type !== 'function_call') return named;
    const { arguments: text, ...call } = named as OutputItem & { arguments?: unknown };
    const placed = { ...call, name: tool.name, ...(tool.namespace !== undefined && { namespace: tool.namespace }) };
    if (tool.kind === 'function') return { ...placed, arguments: text };
    const reader = this.inputs.get(key);
    if (type === 'item') this.inputs.set(key, createInputReader());
    else if (reader) {
      const delta = reader.end();
      if (delta !== '' && !this.isStopped)
        out.push({ type: 'tool_call_arguments', callId: String(item['call_id']), delta, key });
      this.inputs.delete(key);
    }
    const whole = createInputReader();
    const input = typeof text === 'string' ? whole.push(text) + whole.end() : '';
    return { ...placed, type: 'custom_tool_call', input };
  }
}

/** Returns the end of output that the gateway cut. */
function stopAt(finish: FinishChunk, text: string): FinishChunk {
  const { native } = finish;
  const stopped: FinishChunk = { ...finish, reason: 'stop', stopText: text };
  if (native) {
    const delta = { ...native.delta, stop_reason: 'stop_sequence', stop_sequence: text };
    stopped.native = { ...native, delta };
  }
  return stopped;
}

/** Returns the length of the longest end of the text with which the stop text begins. */
function overlap(text: string, stop: string): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length--) {
    if (text.endsWith(stop.slice(0, length))) return length;
  }
  return 0;
}

/** Renames the properties of the outermost object. Other text stays as it is. */
function renameProperties(json: string, names: ReadonlyMap<string, string>): string {
  const value = parseObject(json, 'arguments');
  if (!value) return json;
  return JSON.stringify(
    Object.fromEntries(Object.entries(value).map(([name, each]) => [names.get(name) ?? name, each])),
  );
}
