import { readFileSync } from 'node:fs';
import type { BuiltinSlug } from '../../src/domain/content-filter.ts';
import { compileFilters } from '../../src/guardrails/compile-filters.ts';
import { FilterScan, type FilterFinding } from '../../src/guardrails/filter-scan.ts';
import { encodeBase58Check } from '../../src/guardrails/secrets/base58.ts';

/*
 * Samples for the built-in filters, in `corpus/`: one file for each filter, texts that it must match and near misses. Each
 * sample is a language and a text. `⟦ ⟧` are around what must be found, and ` {id}` at the end is what it must be found as.
 * Templates such as `{alnum:36}` stand for invented values, which are made when the samples are read: as text they would
 * look like leaked secrets to the tools that search repositories for them.
 */

export const corpusSlugs = [
  'email',
  'phone',
  'ssn',
  'credit-card',
  'ip-address',
  'secrets',
  'regex-prompt-injection',
] as const satisfies BuiltinSlug[];
export type CorpusSlug = (typeof corpusSlugs)[number];

export interface Sample {
  readonly slug: CorpusSlug;
  readonly language: string;
  readonly text: string;
  /** Start and end of what must be found. Of prompt injections only that there is something. */
  readonly spans: readonly (readonly [number, number])[];
  readonly isMatch: boolean;
  readonly id: string | undefined;
}

const alphabets: Record<string, string> = {
  alnum: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
  url: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
  base64: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
  base58: '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz',
  bech: 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L',
  upper: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  digit: '123456789',
  hex: '0123456789abcdef',
};

/** Invents characters. The same sample has the same ones in each run. */
function createInventor(seed: number): (alphabet: string, length: number) => string {
  let state = seed * 2_654_435_761 + 1;
  return (alphabet, length) =>
    Array.from({ length }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return alphabet[(state >>> 8) % alphabet.length];
    }).join('');
}

function fill(text: string, seed: number): string {
  const invent = createInventor(seed);
  const bytes = (length: number) => Buffer.from(invent(alphabets['hex']!, 2 * length), 'hex');
  return text.replace(/\{(\w+)(?::([^}]*))?\}/g, (whole, name: string, value = '') => {
    switch (name) {
      case 'dashes':
        return '-----';
      case 'card':
        return value + findCheckDigit(value);
      case 'wif':
        return encodeBase58Check(Buffer.concat([Buffer.from([0x80]), bytes(32)]));
      case 'wifc':
        return encodeBase58Check(Buffer.concat([Buffer.from([0x80]), bytes(32), Buffer.from([1])]));
      case 'xprv':
        return encodeBase58Check(Buffer.concat([Buffer.from([0x04, 0x88, 0xad, 0xe4]), bytes(74)]));
      case 'b64':
        return Buffer.from(value).toString('base64');
      case 'hexof':
        return Buffer.from(value).toString('hex');
      case 'hexspaced':
        return [...Buffer.from(value)].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
      default: {
        const alphabet = alphabets[name];
        return alphabet ? invent(alphabet, Number(value)) : whole;
      }
    }
  });
}

/** The last digit of a card number, by the rule of Luhn. */
function findCheckDigit(number: string): string {
  const digits = [...number.replace(/\D/g, '')].reverse().map(Number);
  const sum = digits.reduce((all, digit, index) => {
    const weighted = index % 2 === 0 ? 2 * digit : digit;
    return all + (weighted > 9 ? weighted - 9 : weighted);
  }, 0);
  return String((10 - (sum % 10)) % 10);
}

export const readCorpus = (): Sample[] => corpusSlugs.flatMap((slug) => readSamples(slug, slug));

/** Prompt injections and near misses that were written after the patterns, which must not be changed for them. */
export const readUnseen = (): Sample[] => readSamples('regex-prompt-injection', 'unseen-prompt-injection');

function readSamples(slug: CorpusSlug, name: string): Sample[] {
  const path = new URL(`./corpus/${name}.json`, import.meta.url);
  const file = JSON.parse(readFileSync(path, 'utf8')) as Record<'match' | 'miss', [string, string][]>;
  return [true, false].flatMap((isMatch) =>
    (isMatch ? file.match : file.miss).map(([language, source], index) => {
      const id = / \{([\w-]+)\}$/.exec(source)?.[1];
      const marked = fill(id === undefined ? source : source.slice(0, -id.length - 3), index);
      const spans = [...marked.matchAll(/⟦([^⟧]*)⟧/g)].map(({ 1: inner, index: at }, count): [number, number] => [
        at - 2 * count,
        at - 2 * count + inner!.length,
      ]);
      return { slug, language, text: marked.replace(/[⟦⟧]/g, ''), spans, isMatch, id };
    }),
  );
}

/** Finds what each built-in filter finds by itself. */
export function createFinder(slug: CorpusSlug): (text: string) => readonly FilterFinding[] {
  const compiled = compileFilters([{ type: 'builtin', slug, action: 'redact' }]);
  return (text) => {
    const scan = new FilterScan(compiled);
    scan.push(text);
    scan.finish();
    return scan.findings;
  };
}

/** Figures of a filter over samples. */
export interface Figures {
  readonly slug: CorpusSlug;
  readonly samples: number;
  readonly nearMisses: number;
  /** Part of the findings that is right. */
  readonly precision: number;
  /** Part of what must be found that is found. */
  readonly recall: number;
}

export function measureFilters(samples: readonly Sample[], slugs: readonly CorpusSlug[] = corpusSlugs): Figures[] {
  return slugs.map((slug) => {
    const find = createFinder(slug);
    const counts = { right: 0, wrong: 0, missed: 0 };
    for (const sample of samples) {
      const isOwn = sample.slug === slug && sample.isMatch;
      const found = find(sample.text);
      if (slug === 'regex-prompt-injection') {
        if (isOwn) counts[found.length > 0 ? 'right' : 'missed']++;
        else if (found.length > 0) counts.wrong++;
        continue;
      }
      const expected = new Set(isOwn ? sample.spans.map(([start, end]) => `${start}-${end}`) : []);
      for (const { start, end } of found) counts[expected.delete(`${start}-${end}`) ? 'right' : 'wrong']++;
      counts.missed += expected.size;
    }
    const own = samples.filter((sample) => sample.slug === slug);
    return {
      slug,
      samples: own.filter(({ isMatch }) => isMatch).length,
      nearMisses: own.filter(({ isMatch }) => !isMatch).length,
      precision: counts.right / (counts.right + counts.wrong),
      recall: counts.right / (counts.right + counts.missed),
    };
  });
}

/** The figures as a Markdown table. */
export function writeFigures(): string {
  const percent = (part: number) => `${(100 * part).toFixed(1)} %`;
  const writeRow = (name: string, { samples, nearMisses, precision, recall }: Figures) =>
    `| ${name} | ${samples} | ${nearMisses} | ${percent(precision)} | ${percent(recall)} |`;
  const [unseen] = measureFilters(readUnseen(), ['regex-prompt-injection']);
  return [
    '| Filter | Samples | Near misses | Precision | Recall |',
    '|---|---|---|---|---|',
    ...measureFilters(readCorpus()).map((figures) => writeRow(`\`${figures.slug}\``, figures)),
    writeRow('`regex-prompt-injection`, unseen', unseen!),
  ].join('\n');
}
