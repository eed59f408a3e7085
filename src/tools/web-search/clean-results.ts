import { passesFilters } from '../../domain/domain-filter.ts';
import type { SearchOrder, SearchResult } from '../../domain/web-search.ts';
import type { RawResult } from './search-driver.ts';

const MAX_URL = 2048;
const MAX_TITLE = 300;

/**
 * Checks the results of an engine: drops those without a usable URL and those that the filters exclude, joins those of
 * the same page, removes control characters, and bounds each text.
 */
export function cleanResults(raw: readonly RawResult[], limits: Omit<SearchOrder, 'query'>): SearchResult[] {
  const pages = new Map<string, { url: URL; title: string; texts: unknown[] }>();
  for (const { url: given, title, texts } of raw) {
    const url = readUrl(given);
    if (!url || !passesFilters(url, limits)) continue;
    const key = keyOf(url);
    const known = pages.get(key);
    if (!known && pages.size === limits.count) continue;
    const page = known ?? { url, title: '', texts: [] };
    if (!known) pages.set(key, page);
    if (page.title === '' && typeof title === 'string') page.title = writeLine(title);
    page.texts.push(...texts);
  }
  return [...pages.values()].map(({ url, title, texts }) => ({
    url: url.href,
    title: title || url.hostname,
    content: joinTexts(texts, limits.maxCharacters),
  }));
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
