import { passesFilters } from '../../domain/domain-filter.ts';
import type { SearchOrder, SearchResult } from '../../domain/web-search.ts';
import type { RawResult } from './search-driver.ts';

const MAX_URL = 2048;
const MAX_TITLE = 300;

/**
 * Checks the results of an engine: drops those without a usable URL, duplicates, and those that the filters exclude;
 * removes control characters, and bounds each text.
 */
export function cleanResults(raw: readonly RawResult[], limits: Omit<SearchOrder, 'query'>): SearchResult[] {
  const kept: SearchResult[] = [];
  const seen = new Set<string>();
  for (const { url: given, title, texts } of raw) {
    if (kept.length === limits.count) break;
    const url = readUrl(given);
    if (!url || !passesFilters(url, limits)) continue;
    const key = keyOf(url);
    if (seen.has(key)) continue;
    seen.add(key);
    kept.push({
      url: url.href,
      title: typeof title === 'string' ? writeLine(title) || url.hostname : url.hostname,
      content: joinTexts(texts, limits.maxCharacters),
    });
  }
  return kept;
}

function readUrl(given: unknown): URL | undefined {
  if (typeof given !== 'string' || given.length > MAX_URL) return undefined;
  const url = URL.parse(given);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) return undefined;
  return url.username === '' && url.password === '' && url.href.length <= MAX_URL ? url : undefined;
}

/** Two URLs with the same key are the same page. */
const keyOf = ({ host, pathname, search }: URL): string => `${host}${pathname.replace(/\/$/, '')}${search}`;

function joinTexts(texts: readonly unknown[], max: number): string {
  const cleaned: string[] = [];
  let characters = 0;
  for (const text of texts) {
    if (typeof text !== 'string' || characters >= max) continue;
    const one = cleanText(text.slice(0, 2 * max)).trim();
    if (one === '' || cleaned.includes(one)) continue;
    cleaned.push(one);
    characters += one.length;
  }
  return truncate(cleaned.join('\n[...]\n'), max);
}

const writeLine = (text: string): string =>
  truncate(
    cleanText(text.slice(0, 2 * MAX_TITLE))
      .replace(/\s+/g, ' ')
      .trim(),
    MAX_TITLE,
  );

/** Everything that is invisible or changes the direction of writing, except line breaks and tabs. */
const controls = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u{e0000}-\u{e007f}]/gu;

/** Removes control characters and broken surrogates. */
export const cleanText = (text: string): string =>
  text
    .replace(/\r\n?/g, '\n')
    .replace(controls, '')
    .replace(/\n{3,}/g, '\n\n')
    .toWellFormed();

/** Cuts a text without splitting a character. */
export const truncate = (text: string, max: number): string =>
  text.length <= max ? text : text.slice(0, max).replace(/[\ud800-\udbff]$/, '');
