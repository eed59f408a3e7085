import type { Chunk, ToolCallChunk } from '../../domain/chunks.ts';
import { createId } from '../../domain/ids.ts';
import { createInputReader, type InputReader } from './custom-input.ts';
import type { OfferedTools } from './tool-box.ts';

/** A call whose pieces go out as they come, under the name by which the caller offered the tool. */
export class OpenCall {
  readonly callId: string;
  /** About how much of the arguments is kept, in UTF-16 units: a custom tool's are JSON around the text that is passed on. */
  keptLength = 0;
  private isEmpty = true;
  private readonly input: InputReader | undefined; // of a custom tool: takes the text out of the arguments

  /**
   * @param name upstream
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

  /** A piece of the arguments, in JSON. */
  push(text: string, chunks: Chunk[]): void {
    if (text === '') return;
    this.isEmpty = false;
    const delta = this.input === undefined ? text : this.input.push(text);
    this.keptLength += text.length - delta.length;
    if (delta !== '') chunks.push({ type: 'tool_call_arguments', callId: this.callId, delta });
  }

  /** @param cut by the token limit: then empty arguments are not repaired */
  end(chunks: Chunk[], cut = false): void {
    const rest = this.input?.end() ?? (this.isEmpty && !cut ? '{}' : ''); // `arguments` is JSON, never empty
    if (rest !== '') chunks.push({ type: 'tool_call_arguments', callId: this.callId, delta: rest });
  }
}

/**
 * Returns the id of a call, or one of ours if another call of the response has it, because clients match outputs by id.
 *
 * @param taken ids of the response's calls; this one is added
 */
export function takeCallId(id: string, taken: Set<string>): string {
  const callId = taken.has(id) ? createId('call_') : id;
  taken.add(callId);
  return callId;
}
