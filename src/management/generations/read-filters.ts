import { type LedgerEntry, generationOutcomes } from '../../domain/ledger-entry.ts';
import { TAG_KEY, TAG_VALUE, type Tags } from '../../domain/tags.ts';
import type { EntryFilters } from '../../platform/storage/ports/entries.ts';

/** Reads the conditions of a list by name: parameters of a query, or options of a command. */
export interface FilterReader {
  /** @returns undefined if it is absent or empty */
  text(name: string): string | undefined;
  /** Notes an invalid value. @param rule the end of the sentence "… is not …" */
  refuse(name: string, value: string, rule: string): void;
}

/** The words of `finish_reason`, as generations show it, by outcome. */
export const finishReasons: Readonly<Record<LedgerEntry['outcome'], string>> = {
  completed: 'stop',
  incomplete: 'incomplete',
  failed: 'failed',
  cancelled: 'cancelled',
};

/** Patterns of values, also for the description of the API. */
export const filterShapes = {
  status: '[1-5]\\d\\d|[1-5]xx',
  tag: `${TAG_KEY.slice(1, -1)}:${TAG_VALUE.slice(1, -1)}`,
  usd: '\\d{1,9}(?:\\.\\d{1,9})?',
  ms: '\\d{1,12}',
  flag: 'true|false',
} as const;

const whole = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`);
const shapes = {
  status: whole(filterShapes.status),
  tag: whole(filterShapes.tag),
  usd: whole(filterShapes.usd),
  ms: whole(filterShapes.ms),
};

/** Reads the conditions that have the same names in the API and in the command line. */
export function readFilters(reader: FilterReader): EntryFilters {
  const minCostNanoUsd = readUsd(reader, 'min_cost');
  const maxCostNanoUsd = readUsd(reader, 'max_cost');
  const minDurationMs = readMs(reader, 'min_duration');
  const maxDurationMs = readMs(reader, 'max_duration');
  checkRange(reader, 'cost', minCostNanoUsd, maxCostNanoUsd);
  checkRange(reader, 'duration', minDurationMs, maxDurationMs);
  return {
    model: reader.text('model'),
    provider: reader.text('provider'),
    outcomes: readOutcomes(reader),
    statuses: readStatuses(reader),
    errorType: reader.text('error_type'),
    tool: reader.text('tool'),
    tags: readTagFilter(reader),
    minCostNanoUsd,
    maxCostNanoUsd,
    minDurationMs,
    maxDurationMs,
    streamed: readFlag(reader, 'streamed'),
    cached: readFlag(reader, 'cached'),
  };
}

function readWord<Word extends string>(reader: FilterReader, name: string, words: readonly Word[]): Word | undefined {
  const text = reader.text(name);
  const found = words.find((word) => word === text);
  if (text !== undefined && found === undefined) reader.refuse(name, text, `one of ${words.join(', ')}`);
  return found;
}

function readFlag(reader: FilterReader, name: string): boolean | undefined {
  const word = readWord(reader, name, ['true', 'false']);
  return word === undefined ? undefined : word === 'true';
}

function readShaped(reader: FilterReader, name: string, shape: RegExp, rule: string): string | undefined {
  const text = reader.text(name);
  if (text === undefined || shape.test(text)) return text;
  reader.refuse(name, text, rule);
  return undefined;
}

/** `outcome` and `finish_reason` are two names of the same. */
function readOutcomes(reader: FilterReader): EntryFilters['outcomes'] {
  const outcome = readWord(reader, 'outcome', generationOutcomes);
  const reason = readWord(reader, 'finish_reason', Object.values(finishReasons));
  if (outcome === undefined && reason === undefined) return undefined;
  return generationOutcomes.filter(
    (each) => (outcome ?? each) === each && (reason ?? finishReasons[each]) === finishReasons[each],
  );
}

function readStatuses(reader: FilterReader): EntryFilters['statuses'] {
  const text = readShaped(reader, 'status', shapes.status, 'a status like 429, or a class like 5xx');
  if (text === undefined) return undefined;
  return [Number(text.replace('xx', '00')), Number(text.replace('xx', '99'))];
}

function readTagFilter(reader: FilterReader): Tags | undefined {
  const text = reader.text('tag');
  if (text === undefined) return undefined;
  const tags = text.split(',').map((tag) => tag.trim());
  const keys = tags.map((tag) => tag.slice(0, tag.indexOf(':')));
  const invalid = tags.find((tag, at) => !shapes.tag.test(tag) || keys.indexOf(keys[at]!) !== at);
  if (invalid !== undefined) {
    reader.refuse('tag', invalid, 'a tag like team:search; several have commas between them, and each key occurs once');
    return undefined;
  }
  return Object.fromEntries(tags.map((tag, at) => [keys[at]!, tag.slice(keys[at]!.length + 1)]));
}

function readUsd(reader: FilterReader, name: string): bigint | undefined {
  const text = readShaped(reader, name, shapes.usd, 'an amount of USD like 0.25');
  if (text === undefined) return undefined;
  const [dollars = '', fraction = ''] = text.split('.');
  return BigInt(dollars + fraction.padEnd(9, '0'));
}

function readMs(reader: FilterReader, name: string): number | undefined {
  const text = readShaped(reader, name, shapes.ms, 'a number of milliseconds');
  return text === undefined ? undefined : Number(text);
}

function checkRange(reader: FilterReader, name: string, min?: bigint | number, max?: bigint | number): void {
  if (min === undefined || max === undefined || min <= max) return;
  reader.refuse(`max_${name}`, reader.text(`max_${name}`)!, `at least \`min_${name}\``);
}
