import type { Chunk, ToolCallChunk } from '../../domain/chunks.ts';
import { createId } from '../../domain/ids.ts';
import { createInputReader, type InputReader } from './custom-input.ts';
import type { OfferedTools } from './offered-tools.ts';

/** A call whose pieces are passed on as they arrive, under the name that the caller gave the tool. */
export class OpenCall {
  readonly callId: string;
  /**
   * Approximate UTF-16 units of the arguments that are kept. A custom tool's arguments contain JSON around the
   * passed-on text.
   */
  keptLength = 0;
  private isEmpty = true;
  private readonly input: InputReader | undefined; // extracts the text from a custom tool's arguments

  /**
   * @param name the name upstream
   * @param fields further wire fields of the item
   */
  constructor(
    offered: OfferedTools | undefined,
    call: { callId: string; name: string; fields?: Record<string, unknown> },
    chunks: Chunk[],
  ) {
    const { callId, name, fields } = call;
    const tool = offered?.get(name);
    const chunk: ToolCallChunk = { type: 'tool_call', callId, name: tool?.name ?? name };
    if (tool?.kind === 'custom') {
      chunk.kind = 'custom';
      this.input = createInputReader();
    }
    if (tool?.namespace !== undefined) chunk.namespace = tool.namespace;
    if (fields) chunk.fields = fields;
    this.callId = callId;
    chunks.push(chunk);
  }

  /** Adds a piece of the JSON arguments. */
  push(text: string, chunks: Chunk[]): void {
    if (text === '') return;
    this.isEmpty = false;
    const delta = this.input === undefined ? text : this.input.push(text);
    this.keptLength += text.length - delta.length;
    if (delta !== '') chunks.push({ type: 'tool_call_arguments', callId: this.callId, delta });
  }

  /** @param cut by the token limit; empty arguments are then not replaced */
  end(chunks: Chunk[], cut = false): void {
    const rest = this.input?.end() ?? (this.isEmpty && !cut ? '{}' : ''); // `arguments` is JSON and never empty
    if (rest !== '') chunks.push({ type: 'tool_call_arguments', callId: this.callId, delta: rest });
  }
}

/**
 * Returns the id of a call, or a new id if another call of the response has it, because clients match outputs by id.
 *
 * @param taken ids of the response's calls; this one is added
 */
export function takeCallId(id: string, taken: Set<string>): string {
  const callId = taken.has(id) ? createId('call_') : id;
  taken.add(callId);
  return callId;
}
