import { type Chunk, type FinishChunk, type ItemKey, isVisible } from '../../domain/chunks.ts';
import { createId } from '../../domain/ids.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { Sink } from '../../domain/sink.ts';
import type { TextAttempt } from '../run/attempt.ts';
import { writeCall } from '../events/build-events.ts';
import type { Run } from '../run/run.ts';
import type { ToolLoop } from '../run/server-tools.ts';
import type { Step, ToolCall } from '../run/step.ts';

/** A call of a server tool while its arguments arrive. */
interface OpenCall {
  item: OutputItem;
  text: string;
  /** Number of items that the client sees before it. */
  index: number;
}

/**
 * Passes the output of one attempt on to the events of the run. It commits its attempt with the first chunk that the
 * client sees, or with its finish. It removes the calls of server tools, which the gateway runs itself, and the finish
 * of a step with such calls. It makes item keys of later steps different from those of earlier ones.
 */
export class StepFilter implements Sink<Chunk> {
  /** Set when the attempt has ended regularly and all of its output has been passed on. */
  finish: FinishChunk | undefined;
  private readonly run: Run;
  private readonly step: Step<TextAttempt>;
  private readonly attempt: TextAttempt;
  private readonly tools: ToolLoop | undefined;
  private readonly out: Sink<Chunk>;
  private isClosed = false;
  /** Calls of server tools by call id, or by key on wires that have items of their own. */
  private calls: Map<ItemKey, OpenCall> | undefined;

  constructor(run: Run, step: Step<TextAttempt>, attempt: TextAttempt, tools: ToolLoop | undefined, out: Sink<Chunk>) {
    this.run = run;
    this.step = step;
    this.attempt = attempt;
    this.tools = tools;
    this.out = out;
  }

  /** Stops passing chunks on after the attempt has failed, even if a reviser still has some. */
  close(): void {
    this.isClosed = true;
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    if (this.isClosed) return undefined;
    if (this.tools || this.step.number > 0) return this.filterEach(chunks);
    const last = chunks.at(-1);
    if (last?.type === 'finish') this.finish = last;
    return this.pass(chunks);
  }

  private pass(chunks: Chunk[]): Promise<void> | undefined {
    if (chunks.length === 0) return undefined;
    if (!this.step.committed && this.isShown(chunks)) this.step.committed = this.attempt;
    return this.out.write(chunks);
  }

  /** Whether the client sees any of these chunks. It sees nothing of a buffered response before its end. */
  private isShown(chunks: readonly Chunk[]): boolean {
    const { stream } = this.run.request;
    for (const chunk of chunks) {
      if (isEnd(chunk)) return true;
      if (stream === true && (isVisible(chunk) || chunk.type === 'debug')) return true;
    }
    return false;
  }

  private filterEach(chunks: Chunk[]): Promise<void> | undefined {
    const waits: Promise<void>[] = [];
    let passed: Chunk[] = [];
    const flush = (): void => {
      const wait = this.pass(passed);
      if (wait) waits.push(wait);
      passed = [];
    };
    for (const chunk of chunks) {
      if (this.beginsCall(chunk)) flush(); // the position of the call among the items is then known
      if (this.takeCall(chunk)) continue;
      if (chunk.type === 'finish') passed.push(this.end(chunk));
      else passed.push(this.step.number > 0 ? withKey(chunk, this.step.number) : chunk);
    }
    flush();
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
  }

  /**
   * Replaces the finish of a step with server-tool calls. `run-steps.ts` passes that finish on, or adds another step.
   */
  private end(finish: FinishChunk): Chunk {
    this.finish = finish;
    if (!this.calls) return finish;
    const taken = this.run.input.listCallIds();
    for (const { item, text, index } of this.calls.values()) {
      const read = readCall(item, text, index);
      const call = taken.has(read.callId) ? renameCall(read) : read;
      taken.add(call.callId);
      this.step.toolCalls.push(call);
    }
    return { type: 'step_end' };
  }

  private beginsCall(chunk: Chunk): boolean {
    if (chunk.type === 'tool_call') return chunk.kind !== 'custom' && this.isServerCall(chunk.name, chunk.namespace);
    if (chunk.type !== 'item' && chunk.type !== 'item_done') return false;
    const { type, name, namespace } = chunk.item;
    return type === 'function_call' && this.isServerCall(String(name), namespace as string | undefined);
  }

  private isServerCall(name: string, namespace: string | undefined): boolean {
    return this.tools?.owns(name, namespace) === true;
  }

  /** @returns whether the chunk belongs to a call of a server tool */
  private takeCall(chunk: Chunk): boolean {
    switch (chunk.type) {
      case 'tool_call':
        if (!this.beginsCall(chunk)) return false;
        this.open(chunk.callId, writeCall(chunk));
        return true;
      case 'tool_call_arguments': {
        const call = this.calls?.get(chunk.key ?? chunk.callId);
        if (call) call.text += chunk.delta;
        return call !== undefined;
      }
      case 'item':
      case 'item_done': {
        if (!this.beginsCall(chunk)) return false;
        const call = this.calls?.get(chunk.key);
        if (call) call.item = chunk.item;
        else this.open(chunk.key, chunk.item);
        return true;
      }
      case 'part':
      case 'relay':
        return chunk.key !== undefined && this.calls?.has(chunk.key) === true;
      default:
        return false;
    }
  }

  private open(key: ItemKey, item: OutputItem): void {
    this.calls ??= new Map();
    this.calls.set(key, { item, text: '', index: this.run.builder?.items.length ?? 0 });
  }
}

const isEnd = ({ type }: Chunk): boolean => type === 'finish' || type === 'step_end';

/** Reads a call. Its arguments are those of the finished item or, if it has none, the collected deltas. */
function readCall(item: OutputItem, text: string, index: number): ToolCall {
  const { arguments: finished, call_id: callId, name } = item as Record<string, unknown>;
  const complete = typeof finished === 'string' && finished !== '' ? finished : text;
  return {
    callId: String(callId),
    name: String(name),
    arguments: complete,
    item: { ...item, arguments: complete, status: 'completed' },
    index,
  };
}

/** Some providers number the calls of each turn from 0, and others reject a conversation that repeats an id. choice 563 */
function renameCall(call: ToolCall): ToolCall {
  const callId = createId('call_');
  return { ...call, callId, item: { ...call.item, call_id: callId } };
}

/** Wires number items from 0 in each step. */
function withKey(chunk: Chunk, step: number): Chunk {
  if (!('key' in chunk) || chunk.key === undefined) return chunk;
  chunk.key = `${step}/${chunk.key}`; // chunks are created for this attempt alone
  return chunk;
}
