import { cutMiddle } from '../../domain/cut-middle.ts';
import type { InputItem } from '../../domain/items.ts';
import type { SlicedWork } from '../../domain/work-slices.ts';
import { measureItem } from './measure.ts';

/** The fields of items whose text may be cut. Arguments of calls must stay JSON, and reasoning stays as it is. */
const fieldOf: Readonly<Record<string, 'content' | 'output'>> = {
  message: 'content',
  function_call_output: 'output',
  custom_tool_call_output: 'output',
};
const textParts = new Set(['input_text', 'output_text']);

/** The line that replaces the middle of a text. */
const writeMark = (characters: number): string => `\n[… ${characters} characters were removed here …]\n`;

/** Rounds of cutting: the tokens of a text are not proportional to its characters. */
const MAX_ROUNDS = 8;

/** A text that may be cut. */
interface Text {
  readonly item: number;
  /** Index of its part; undefined if the field itself is the text. */
  readonly part: number | undefined;
  readonly text: string;
}

type Part = { type: string; text?: string };

/**
 * Cuts the texts of items in their middle, the longest ones most.
 *
 * @param excess tokens that are too much
 * @param least tokens that must remain of the texts
 * @param scale real tokens per estimated token
 * @returns undefined if the texts are too short for that
 */
export function* cutUnit(
  items: readonly InputItem[],
  excess: number,
  least: number,
  scale: number,
): SlicedWork<InputItem[] | undefined> {
  const texts = yield* listTexts(items);
  if (texts.length === 0) return undefined;
  const before = yield* measure(items, scale);
  const fixed = yield* measure(yield* replaceTexts(items, texts, () => ''), scale);
  const wanted = before - excess;
  if (wanted - fixed < least) return undefined;
  let characters = 0;
  for (const { text } of texts) characters += text.length;
  let kept = (characters * (wanted - fixed)) / (before - fixed);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const limit = yield* findLimit(texts, kept);
    const shorten = (text: string) => (text.length > limit ? cutMiddle(text, limit, writeMark) : text);
    const cut = yield* replaceTexts(items, texts, shorten);
    const after = yield* measure(cut, scale);
    if (after <= wanted) return cut;
    kept *= Math.min(0.95, (wanted - fixed) / (after - fixed));
  }
  return undefined;
}

function* measure(items: readonly InputItem[], scale: number): SlicedWork<number> {
  let sum = 0;
  for (const item of items) sum += (yield* measureItem(item)) * scale;
  return sum;
}

function* listTexts(items: readonly InputItem[]): SlicedWork<Text[]> {
  const texts: Text[] = [];
  for (const [item, holder] of items.entries()) {
    const field = fieldOf[holder.type];
    const value = field && (holder as Record<string, unknown>)[field];
    if (typeof value === 'string') texts.push({ item, part: undefined, text: value });
    yield 2;
    if (!Array.isArray(value)) continue;
    for (const [part, { type: kind, text }] of (value as Part[]).entries()) {
      if (textParts.has(kind) && typeof text === 'string') texts.push({ item, part, text });
      if (part % BATCH === BATCH - 1) yield BATCH;
    }
  }
  return texts;
}

/** Finds the length at which texts must be cut, so that all of them have this number of characters together. */
function* findLimit(texts: readonly Text[], characters: number): SlicedWork<number> {
  let low = 0;
  let high = 1; // becomes more than the longest text
  for (const { text } of texts) high = Math.max(high, text.length + 1);
  while (high - low > 1) {
    const limit = Math.floor((low + high) / 2);
    let sum = 0;
    for (const [at, { text }] of texts.entries()) {
      sum += Math.min(text.length, limit);
      if (at % BATCH === BATCH - 1) yield BATCH / 16;
    }
    if (sum <= characters) low = limit;
    else high = limit;
  }
  return low;
}

function* replaceTexts(
  items: readonly InputItem[],
  texts: readonly Text[],
  replace: (text: string) => string,
): SlicedWork<InputItem[]> {
  const changed = [...items] as (InputItem & Record<string, unknown>)[];
  for (const [at, { item, part, text }] of texts.entries()) {
    if (at % BATCH === BATCH - 1) yield BATCH * 2;
    const replacement = replace(text);
    if (replacement === text) continue;
    const field = fieldOf[changed[item]!.type]!; // it has a text
    if (part === undefined) changed[item] = { ...changed[item]!, [field]: replacement };
    else {
      if (changed[item] === items[item])
        changed[item] = { ...changed[item]!, [field]: [...(changed[item]![field] as Part[])] };
      const parts = changed[item]![field] as Part[];
      parts[part] = replacePart(parts[part]!, replacement);
    }
  }
  return changed;
}

/** Texts between two places where the work can pause. */
const BATCH = 256;

/** The positions of annotations and the probabilities of tokens would be wrong in another text. */
function replacePart(part: Part, text: string): Part {
  if (part.type !== 'output_text') return { ...part, text };
  const { logprobs: _, ...rest } = part as Part & { logprobs?: unknown };
  return { ...rest, text, ...('annotations' in rest && { annotations: [] }) };
}
