import type { Chunk, TextChunk } from '../../domain/chunks.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { Plugin, PluginRun } from '../plugin.ts';
import { JsonHealer } from './heal-json.ts';

/**
 * Mends the JSON of a buffered answer that was asked for as JSON. A stream is left alone, and so is an answer that the
 * token limit cut: what is missing there is not syntax.
 *
 * @see plugins.md section 4
 */
export const responseHealing: Plugin = {
  id: 'response-healing',
  prepare(run) {
    const mode = run.request.text?.format?.type;
    if (run.request.stream || (mode !== 'json_object' && mode !== 'json_schema')) return undefined;
    return (chunks) => (isCut(chunks) ? chunks : healChunks(chunks, run, mode));
  },
};

const isCut = (chunks: readonly Chunk[]): boolean =>
  chunks.some((chunk) => chunk.type === 'finish' && chunk.reason !== 'stop');

/** A buffered answer comes as one batch: its texts either as chunks or inside whole items. */
function healChunks(chunks: Chunk[], run: PluginRun, mode: string): Chunk[] {
  const heal = createHealer(run, mode);
  const texts = chunks.filter((chunk) => chunk.type === 'text');
  const healed = heal(texts.map(({ delta }) => delta).join(''));
  let first: TextChunk | undefined = texts[0];
  return chunks.flatMap((chunk): Chunk[] => {
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

/** @returns undefined when the text is fine as it is, or beyond repair; only a repair leaves a stage */
type Heal = (text: string) => string | undefined;

function createHealer(run: PluginRun, mode: string): Heal {
  const healer = new JsonHealer();
  return (text) => {
    const healed = healer.heal(text);
    if (healed === text) return undefined;
    run.record({
      type: 'response_healing',
      name: 'response-healing',
      summary: 'The JSON of the answer was repaired.',
      data: { mode, improved: true, original_length: text.length, healed_length: healed.length },
    });
    return healed;
  };
}
