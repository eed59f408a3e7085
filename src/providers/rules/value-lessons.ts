import type { RefusalLesson as Lesson } from '../../domain/errors.ts';
import { efforts } from '../../domain/items.ts';
import { fieldsOf } from './parameter-names.ts';
import type { Settings } from './rule-sets.ts';

/** Parameters whose numbers a server may bound. A limit of the output has sentences of its own. */
const numbers = new Map<string, { step: number }>([
  ...['temperature', 'top_p', 'min_p', 'presence_penalty', 'frequency_penalty', 'repetition_penalty'].map(
    (name) => [name, { step: 0.01 }] as const,
  ),
  ...['top_k', 'top_logprobs'].map((name) => [name, { step: 1 }] as const),
]);

const NUMBER = '(-?\\d{1,6}(?:\\.\\d{1,6})?)';
const interval = new RegExp(
  `(?:between|range(?: is| of|:)?|\\bin(?: the range)?(?: of)?|from)\\s{0,2}([[(]?)\\s?${NUMBER}\\s?(?:,|to|and|-|\\.\\.)\\s?${NUMBER}\\s?([\\])]?)`,
  'i',
);
const atMost = new RegExp(
  `(?:less than or equal to|at most|<=|≤|(?:not|cannot) (?:be )?(?:exceed|greater than|larger than|above)|no (?:more|greater|larger) than|maximum (?:value )?(?:is|of))\\s?${NUMBER}`,
  'i',
);
const atLeast = new RegExp(`(?:greater than or equal to|at least|>=|≥|minimum (?:value )?(?:is|of))\\s?${NUMBER}`, 'i');
const below = new RegExp(`(?:(?:less|smaller|lower) than|(?<![-=])<)\\s?${NUMBER}`, 'i');
const above = new RegExp(`(?:(?:greater|larger|higher) than|(?<![-=])>)\\s?${NUMBER}`, 'i');
const single = new RegExp(`only ${NUMBER} is (?:allowed|supported|accepted)`, 'i');

interface Bounds {
  min?: number;
  max?: number;
  only?: number;
}

function readBounds(text: string, step: number): Bounds | undefined {
  const only = single.exec(text)?.[1];
  if (only !== undefined) return { only: Number(only) };
  const both = interval.exec(text);
  const round = (value: number): number => Number(value.toFixed(6));
  if (both) {
    const [, open, min, max, close] = both;
    const bounds = {
      min: open === '(' && close !== '' ? round(Number(min) + step) : Number(min),
      max: close === ')' && open !== '' && open !== '(' ? round(Number(max) - step) : Number(max),
    };
    return bounds.min <= bounds.max ? bounds : undefined;
  }
  const max = atMost.exec(text)?.[1];
  const min = atLeast.exec(text)?.[1];
  if (max !== undefined || min !== undefined) {
    return { ...(min !== undefined && { min: Number(min) }), ...(max !== undefined && { max: Number(max) }) };
  }
  const upper = below.exec(text)?.[1];
  if (upper !== undefined) return { max: round(Number(upper) - step) };
  const lower = above.exec(text)?.[1];
  return lower === undefined ? undefined : { min: round(Number(lower) + step) };
}

/** Reads the bounds of a number: `temperature must be in [0, 1]`. @returns the name of the lesson */
export function readRange(text: string, param: string): string | undefined {
  for (const [name, { step }] of numbers) {
    const at = param === name ? 0 : text.search(new RegExp(`(?<![\\w])${name}(?![\\w])`, 'i'));
    if (at === -1) continue;
    const bounds = readBounds(text.slice(at), step);
    if (!bounds) continue;
    const { min, max, only } = bounds;
    if (only !== undefined) return `${name} only ${only}`;
    return `${name}${min === undefined ? '' : ` from ${min}`}${max === undefined ? '' : ` to ${max}`}`;
  }
  return undefined;
}

const valueLists =
  /(?:supported values are|must be one of|(?:allowed|valid|accepted|supported) values(?: are)?|expected one of)\W{0,4}([^.]{1,120})/i;

/**
 * Reads the values that a server lists for a field of words, such as an effort.
 *
 * @returns the name of the lesson; undefined if the list has a word that is no effort, such as `default`
 */
export function readValues(text: string, param: string): string | undefined {
  const name = /(?<!\w)(?:reasoning[_.]effort|output_config\.effort|text\.verbosity|verbosity|service_tier)(?!\w)/i
    .exec(`${param} ${text}`)?.[0]
    .toLowerCase();
  const words =
    name &&
    valueLists
      .exec(text)?.[1]
      ?.match(/[a-z_]+/gi)
      ?.filter((word) => word !== 'and' && word !== 'or');
  if (!words || words.length === 0) return undefined;
  if (!name.endsWith('effort')) return `values of ${name.replace('text.', '')}: ${words.join(', ')}`;
  return words.every((word) => efforts.some((effort) => effort === word)) ? `efforts ${words.join(', ')}` : undefined;
}

/** Settings that send these efforts, also where the rules of the endpoint have one word for all of them. */
function sendEfforts(listed: string[], current: Settings): Settings {
  const { on } = (current['reasoning_rules'] ?? {}) as { on?: Settings };
  const hasWord = on?.['reasoning_effort'] !== undefined;
  return { efforts: listed, ...(hasWord && { reasoning_rules: { on: {}, keep_effort: true } }) };
}

/** Returns the lesson of a name that this file makes. */
export function valueLesson(name: string): Lesson | undefined {
  const listed = /^efforts (.+)$/.exec(name)?.[1];
  if (listed) return { name, settings: (current) => sendEfforts(listed.split(', '), current) };
  const values = /^values of (verbosity|service_tier): (.+)$/.exec(name);
  if (values) return { name, settings: () => ({ fields: fieldsOf(values[1]!, { values: values[2]!.split(', ') }) }) };
  const only = /^(\w+) only (-?[\d.]+)$/.exec(name);
  if (only) return { name, settings: () => ({ fields: fieldsOf(only[1]!, { values: [Number(only[2])] }) }) };
  const range = /^(\w+)(?: from (-?[\d.]+))?(?: to (-?[\d.]+))?$/.exec(name);
  if (!range || !numbers.has(range[1]!) || range[0] === range[1]) return undefined;
  const [, field, min, max] = range;
  const rule = { ...(min !== undefined && { min: Number(min) }), ...(max !== undefined && { max: Number(max) }) };
  return { name, settings: () => ({ fields: fieldsOf(field!, rule) }) };
}
