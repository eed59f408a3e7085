import type { Chunk, ToolCallArgumentsChunk } from '../../../domain/chunks.ts';
import { parseObject } from '../../../domain/parse-object.ts';
import type { TextWire } from '../../text-wire.ts';
import type { Reader } from '../../wire.ts';

/** What a fitted request changed, for the response to it: the client sees its own names. */
export interface Restore {
  /** Texts that end the output, which the server did not get. */
  readonly stops?: readonly string[];
  /** Name of the tool at the server → name of the property there → name of the client. */
  readonly properties?: ReadonlyMap<string, ReadonlyMap<string, string>>;
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
  /** Call id → its tool and its arguments so far, for tools with other property names. */
  private readonly calls = new Map<string, { names: ReadonlyMap<string, string>; chunk?: ToolCallArgumentsChunk }>();
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
        this.addText(chunk.delta, out);
        return;
      case 'tool_call': {
        const names = this.restore.properties?.get(chunk.name);
        if (names) this.calls.set(chunk.callId, { names });
        break;
      }
      case 'tool_call_arguments': {
        const call = this.calls.get(chunk.callId);
        if (!call) break;
        call.chunk = call.chunk ? { ...call.chunk, delta: call.chunk.delta + chunk.delta } : chunk;
        this.keptLength += chunk.delta.length;
        return;
      }
      case 'finish':
        if (this.held !== '' && !this.isStopped) out.push({ type: 'text', delta: this.held });
        for (const { names, chunk: held } of this.calls.values()) {
          if (held) out.push({ ...held, delta: renameProperties(held.delta, names) });
        }
        out.push(this.isStopped ? { ...chunk, reason: 'stop' } : chunk);
        return;
      default:
    }
    if (!this.isStopped || chunk.type === 'start') out.push(chunk);
  }

  /** Passes text up to the first stop text. What may be the beginning of one waits for more. */
  private addText(delta: string, out: Chunk[]): void {
    if (this.isStopped) return;
    const text = this.held + delta;
    const ends = this.stops.map((stop) => text.indexOf(stop)).filter((at) => at !== -1);
    if (ends.length > 0) {
      this.isStopped = true;
      this.held = '';
      const shown = text.slice(0, Math.min(...ends));
      if (shown !== '') out.push({ type: 'text', delta: shown });
      return;
    }
    const kept = Math.max(...this.stops.map((stop) => overlap(text, stop)));
    this.held = text.slice(text.length - kept);
    if (text.length > kept) out.push({ type: 'text', delta: text.slice(0, text.length - kept) });
  }
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
  const value = parseObject(json);
  if (!value) return json;
  return JSON.stringify(
    Object.fromEntries(Object.entries(value).map(([name, each]) => [names.get(name) ?? name, each])),
  );
}
