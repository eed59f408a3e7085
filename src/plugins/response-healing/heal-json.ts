import { jsonrepair } from 'jsonrepair';
import { parseJson } from '../../domain/parse-json.ts';
import { findJson, type FoundJson } from './find-json.ts';

/** The kind of value that a response must be. */
export type JsonRoot = 'object' | 'array';

/** A text with more values is a list of them, and not one value with text around it. */
const MAX_VALUES = 64;
/** Times that the letters of a text are repaired, with different ends of its values. */
const MAX_REPAIRS = 4;

/**
 * Repairs the syntax of JSON from a model: fences, text around the JSON, quotes, commas, brackets. It does not repair the
 * schema, and it does not choose between different values.
 *
 * @param root the kind that counts if there are values of both
 * @returns the same text if it is valid already; undefined if it cannot be repaired
 * @see docs/reference/plugins.md
 */
export function healJson(text: string, root: JsonRoot | undefined): string | undefined {
  if (parses(text)) return text;
  const values: Value[] = [];
  const repair = createRepair(text.length * MAX_REPAIRS);
  let count = 0;
  for (const found of findJson(text)) {
    if (++count > MAX_VALUES) return undefined;
    const json = healValue(text, found, repair);
    if (json !== undefined) values.push({ ...found, json });
  }
  const preferences: ((value: Value) => boolean)[] = [
    ({ isClosed }) => isClosed,
    ({ isFenced }) => isFenced,
    ({ json }) => root === (json.startsWith('{') ? 'object' : 'array'),
  ];
  const [first, ...others] = preferences.reduce<readonly Value[]>(prefer, values);
  if (!first) return undefined;
  const same = others.length === 0 ? '' : normalize(first.json);
  return others.every(({ json }) => normalize(json) === same) ? first.json : undefined;
}

interface Value extends FoundJson {
  /** Repaired. */
  json: string;
}

/** The values that a condition applies to, or all of them if it applies to none. */
function prefer(values: readonly Value[], applies: (value: Value) => boolean): readonly Value[] {
  const preferred = values.filter(applies);
  return preferred.length > 0 ? preferred : values;
}

function healValue(text: string, { start, ends }: FoundJson, repair: Repair): string | undefined {
  for (const end of ends) {
    const candidate = text.slice(start, end).trimEnd();
    const json = parses(candidate) ? candidate : repair(candidate);
    if (json !== undefined) return json;
  }
  return undefined;
}

/** @returns undefined if it cannot be repaired, or becomes a list of what it contains */
type Repair = (candidate: string) => string | undefined;

/** @param maxCharacters of all candidates together */
function createRepair(maxCharacters: number): Repair {
  let left = maxCharacters;
  return (candidate) => {
    left -= candidate.length;
    if (left < 0) return undefined;
    try {
      const repaired = jsonrepair(candidate).trim();
      return repaired[0] === candidate[0] && parses(repaired) ? repaired : undefined;
    } catch {
      return undefined;
    }
  };
}

const normalize = (json: string): string => JSON.stringify(parseJson(json));

function parses(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
}
