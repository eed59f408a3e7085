import type { Chunk, TextChunk } from '../../domain/chunks.ts';
import { BufferedChunks } from '../../domain/buffered-chunks.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { RevisingSink } from '../../domain/reviser.ts';
import type { Sink } from '../../domain/sink.ts';
import type { Plugin, PluginRun } from '../plugin.ts';
import { JsonHealer } from './heal-json.ts';

/**
 * Repairs the JSON of a buffered response that was requested as JSON. Streams are not repaired, and neither are
 * responses that the token limit truncated: these lack more than syntax.
 *
 * @see docs/reference/plugins.md
 */
export const responseHealing: Plugin = {
  id: 'response-healing',
  prepare(run) {
    const mode = run.request.text?.format?.type;
    if (run.request.stream || (mode !== 'json_object' && mode !== 'json_schema')) return undefined;
    return { open: (_run, out) => new HealingSink(run, mode, out) };
  },
};

/** Buffers a response until its end, because only complete JSON can be repaired. A longer one stays unchanged. */
class HealingSink implements RevisingSink {
  private readonly run: PluginRun;
  private readonly mode: string;
  private readonly out: Sink<Chunk>;
  private readonly buffer = new BufferedChunks(MAX_HEALED_CHARACTERS);
  private isTooLong = false;

  constructor(run: PluginRun, mode: string, out: Sink<Chunk>) {
    this.run = run;
    this.mode = mode;
    this.out = out;
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    if (this.isTooLong) return this.out.write(chunks);
    this.isTooLong = !this.buffer.add(chunks);
    const isEnd = chunks.at(-1)?.type === 'finish';
    if (!isEnd && !this.isTooLong) return undefined;
    const all = this.buffer.release();
    return this.out.write(this.isTooLong || isCut(all) ? all : healChunks(all, this.run, this.mode));
  }

  abandon(): void {
    this.buffer.release();
  }
}

/** Maximum characters of a response to repair. */
const MAX_HEALED_CHARACTERS = 16 * 1024 * 1024;

const isCut = (chunks: readonly Chunk[]): boolean =>
  chunks.some((chunk) => chunk.type === 'finish' && chunk.reason !== 'stop');

/** The texts of a whole response are either chunks or parts of whole items. */
function healChunks(chunks: Chunk[], run: PluginRun, mode: string): Chunk[] {
  const heal = createHealer(run, mode);
  const texts = chunks.filter((chunk) => chunk.type === 'text');
  const healed = heal(texts.map(({ delta }) => delta).join(''));
  let first: TextChunk | undefined = texts[0];
  return chunks.flatMap((chunk): Chunk[] => {
    if (chunk.type === 'part_done' && chunk.part.type === 'output_text') return []; // its item has the same text
    if (chunk.type === 'item_done') return [{ ...chunk, item: healItem(chunk.item, heal) }];
    if (chunk.type !== 'text' || healed === undefined) return [chunk];
    const whole = chunk === first ? [{ ...chunk, delta: healed }] : [];
    first = undefined;
    return whole;
  });
}

function healItem(item: OutputItem, heal: Heal): OutputItem {
  if (item.type !== 'message' || !Array.isArray(item['content'])) return item;
  return {
    ...item,
    content: item['content'].map((part: { type?: unknown; text?: unknown }) => {
      if (part.type !== 'output_text' || typeof part.text !== 'string') return part;
      return { ...part, text: heal(part.text) ?? part.text };
    }),
  };
}

/** @returns undefined if the text is valid already, or cannot be repaired; only a repair has a stage */
type Heal = (text: string) => string | undefined;

function createHealer(run: PluginRun, mode: string): Heal {
  const healer = new JsonHealer();
  return (text) => {
    const healed = healer.heal(text);
    if (healed === text) return undefined;
    run.stages.push({
      type: 'response_healing',
      name: 'response-healing',
      summary: 'The JSON of the response was repaired.',
      data: { mode, improved: true, original_length: text.length, healed_length: healed.length },
    });
    return healed;
  };
}
