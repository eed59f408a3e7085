import { cutMiddle } from '../../domain/cut-middle.ts';
import type { InputItem } from '../../domain/items.ts';

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
 * @param measure estimates the tokens of an item
 * @returns undefined if the texts are too short for that
 */
export function cutUnit(
  items: readonly InputItem[],
  excess: number,
  least: number,
  measure: (item: InputItem) => number,
): InputItem[] | undefined {
  const texts = items.flatMap(listTexts);
  if (texts.length === 0) return undefined;
  const total = (all: readonly InputItem[]) => all.reduce((sum, item) => sum + measure(item), 0);
  const before = total(items);
  const fixed = total(replaceTexts(items, texts, () => ''));
  const wanted = before - excess;
  if (wanted - fixed < least) return undefined;
  const characters = texts.reduce((sum, { text }) => sum + text.length, 0);
  let kept = (characters * (wanted - fixed)) / (before - fixed);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const limit = findLimit(texts, kept);
    const cut = replaceTexts(items, texts, (text) => (text.length > limit ? cutMiddle(text, limit, writeMark) : text));
    const after = total(cut);
    if (after <= wanted) return cut;
    kept *= Math.min(0.95, (wanted - fixed) / (after - fixed));
  }
  return undefined;
}

function listTexts(item: InputItem, index: number): Text[] {
  const field = fieldOf[item.type];
  const value = field && (item as Record<string, unknown>)[field];
  if (typeof value === 'string') return [{ item: index, part: undefined, text: value }];
  if (!Array.isArray(value)) return [];
  return (value as Part[]).flatMap(({ type, text }, part) =>
    textParts.has(type) && typeof text === 'string' ? [{ item: index, part, text }] : [],
  );
}

/** Finds the length at which texts must be cut, so that all of them have this number of characters together. */
function findLimit(texts: readonly Text[], characters: number): number {
  const lengths = texts.map(({ text }) => text.length).sort((a, b) => a - b);
  let left = characters;
  for (const [at, length] of lengths.entries()) {
    const share = left / (lengths.length - at);
    if (length > share) return Math.floor(share);
    left -= length;
  }
  return Number.POSITIVE_INFINITY;
}

function replaceTexts(
  items: readonly InputItem[],
  texts: readonly Text[],
  replace: (text: string) => string,
): InputItem[] {
  const changed = [...items] as (InputItem & Record<string, unknown>)[];
  for (const { item, part, text } of texts) {
    const replacement = replace(text);
    if (replacement === text) continue;
    const field = fieldOf[changed[item]!.type]!; // it has a text
    if (part === undefined) changed[item] = { ...changed[item]!, [field]: replacement };
    else {
      const own = changed[item]![field] === items[item]![field as never];
      const parts = own ? [...(changed[item]![field] as Part[])] : (changed[item]![field] as Part[]);
      parts[part] = replacePart(parts[part]!, replacement);
      changed[item] = { ...changed[item]!, [field]: parts };
    }
  }
  return changed;
}

/** The positions of annotations and the probabilities of tokens would be wrong in another text. */
function replacePart(part: Part, text: string): Part {
  if (part.type !== 'output_text') return { ...part, text };
  const { logprobs: _, ...rest } = part as Part & { logprobs?: unknown };
  return { ...rest, text, ...('annotations' in rest && { annotations: [] }) };
}
