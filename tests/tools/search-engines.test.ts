import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ServiceError } from '../../src/domain/service.ts';
import { createCallService } from '../../src/platform/outbound/call-service.ts';
import {
  bytes,
  emptyBody,
  htmlPage,
  hugeBody,
  json,
  redirect,
  resetAfter,
  resetBeforeHeaders,
  type ScriptedResponse,
  splitIntoPieces,
  stallAfter,
  stallBeforeHeaders,
  throttle,
} from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { parseDomainFilter } from '../../src/domain/domain-filter.ts';
import { searchDrivers } from '../../src/tools/web-search/engines/index.ts';
import type { SearchOrder } from '../../src/domain/web-search.ts';
import { type SearchEngine, searchWeb } from '../../src/tools/web-search/search-web.ts';

let upstream: ScriptedUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

type Driver = keyof typeof searchDrivers;
const drivers = Object.keys(searchDrivers) as Driver[];
const secret = 'key-of-the-engine-1234567890';
const call = createCallService();

interface Page {
  url?: unknown;
  title?: unknown;
  text?: unknown;
}

/** The responses of each API to a search that finds these pages. */
const answers: Record<Driver, (pages: Page[]) => object> = {
  searxng: (pages) => ({
    query: 'q',
    results: pages.map(({ text, ...page }) => ({ ...page, content: text, engine: 'google', score: 1 })),
  }),
  brave: (pages) => ({
    type: 'search',
    web: { type: 'search', results: pages.map(({ text, ...page }) => ({ ...page, description: text, age: '1 day' })) },
  }),
  exa: (pages) => ({ requestId: 'r', results: pages.map((page) => ({ ...page, author: null, score: 0.5 })) }),
  tavily: (pages) => ({
    results: pages.map(({ text, ...page }) => ({ ...page, content: text, score: 0.5 })),
    response_time: 0.4,
  }),
  serper: (pages) => ({
    searchParameters: { q: 'q' },
    organic: pages.map(({ text, url, title }, at) => ({ title, link: url, snippet: text, position: at + 1 })),
  }),
  perplexity: (pages) => ({ id: 'p', results: pages.map(({ text, ...page }) => ({ ...page, snippet: text })) }),
  firecrawl: (pages) => ({
    success: true,
    data: { web: pages.map(({ text, ...page }, at) => ({ ...page, description: text, position: at + 1 })) },
  }),
  parallel: (pages) => ({ search_id: 's', results: pages.map(({ text, ...page }) => ({ ...page, excerpts: [text] })) }),
};

const engineOf = (driver: Driver, more: Partial<SearchEngine> = {}): SearchEngine => ({
  name: 'exa',
  driver: searchDrivers[driver],
  baseUrl: upstream.url,
  apiKey: secret,
  timeoutMs: 30_000,
  ...more,
});
const order: SearchOrder = {
  query: 'heat pumps in winter',
  count: 5,
  mode: undefined,
  include: [],
  exclude: [],
  maxCharacters: 1000,
};
const search = (driver: Driver, more: Partial<SearchOrder> = {}, engine: Partial<SearchEngine> = {}) =>
  searchWeb(call, engineOf(driver, engine), { ...order, ...more });
const filters = (...entries: string[]) => entries.map((entry) => parseDomainFilter(entry)!);

const page = (at: number, more: Page = {}): Page => ({
  url: `https://site${at}.example/page`,
  title: `Page ${at}`,
  text: `Text ${at}.`,
  ...more,
});

/** Sends a search with the filters and returns the request that the engine got. */
async function requestOf(driver: Driver, more: Partial<SearchOrder> = {}): Promise<ScriptedRequest> {
  upstream.respond(json(answers[driver]([])));
  await search(driver, more);
  return upstream.requests.at(-1)!;
}

describe.each(drivers)('%s', (driver) => {
  it('returns url, title and text of each result', async () => {
    upstream.respond(splitIntoPieces(json(answers[driver]([page(1), page(2, { title: 'Zwei — 二' })])), [1, 7, 100]));
    expect(await search(driver)).toEqual([
      { url: 'https://site1.example/page', title: 'Page 1', content: 'Text 1.' },
      { url: 'https://site2.example/page', title: 'Zwei — 二', content: 'Text 2.' },
    ]);
  });

  it('authorizes with the key, and never puts it into the URL or the body', async () => {
    const { headers, path, text } = await requestOf(driver);
    expect(JSON.stringify(headers)).toContain(secret);
    expect(path + text).not.toContain(secret);
  });

  it('returns nothing if nothing was found, and never more than requested', async () => {
    upstream.respond(json(answers[driver]([])));
    expect(await search(driver)).toEqual([]);
    upstream.respond(json(answers[driver](Array.from({ length: 50 }, (_, at) => page(at)))));
    expect(await search(driver, { count: 3 })).toHaveLength(3);
  });

  it('drops results that are unusable, and cleans the others', async () => {
    const pages = [
      'javascript:alert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
      'ftp://site.example/',
      '/relative',
      '',
      'https://user:secret@site.example/',
      `https://long.example/${'x'.repeat(3000)}`,
      42,
      null,
      { a: 1 },
    ].map((url) => page(0, { url }));
    const same = [page(1), page(1, { url: 'https://site1.example/page/#part', title: 'Again' })];
    const dirty = page(2, {
      title: ` Red\u001b[31m and\u202e\n lines\u0000 ${'x'.repeat(1000)}`,
      text: `One\u0007 two\u2066\r\n\n\n\nthree \ud800 ${'y'.repeat(5000)}`,
    });
    upstream.respond(json(answers[driver]([...pages, ...same, dirty, page(3, { title: 7, text: { a: 1 } })])));
    const [first, second, third, ...rest] = await search(driver, { count: 20 });
    expect(first).toMatchObject({ url: 'https://site1.example/page', title: 'Page 1' });
    expect(second!.title).toMatch(/^Red\[31m and lines x+$/);
    expect(second!.title).toHaveLength(300);
    expect(second!.content).toMatch(/^One two\n\nthree \ufffd y+$/);
    expect(second!.content).toHaveLength(1000);
    expect(third).toEqual({ url: 'https://site3.example/page', title: 'site3.example', content: '' });
    expect(rest).toEqual([]);
  });

  it('passes only results that the domain filters allow, whatever the engine returns', async () => {
    const urls = [
      'https://example.com/',
      'https://www.example.com/a',
      'https://notexample.com/',
      'https://other.org/blog/x',
      'https://other.org/blogs',
      'https://bad.example.com/a',
      'https://sub.wild.net/',
      'https://wild.net/',
    ];
    upstream.respond(json(answers[driver](urls.map((url) => page(0, { url })))));
    const include = filters('example.com', 'https://other.org/blog/', '*.Wild.net');
    const found = await search(driver, { include, exclude: filters('bad.example.com'), count: 20 });
    expect(found.map(({ url }) => url)).toEqual([
      'https://example.com/',
      'https://www.example.com/a',
      'https://other.org/blog/x',
      'https://sub.wild.net/',
    ]);
  });

  it('lets the engine apply the filters, and requests more results', async () => {
    const include = await requestOf(driver, { include: filters('a.example', '*.b.example', 'c.example/blog') });
    const said = decodeURIComponent(include.path) + include.text;
    for (const host of ['a.example', 'b.example', 'c.example']) expect(said).toContain(host);
    expect(said).not.toContain('*');
    const exclude = await requestOf(driver, { exclude: filters('a.example', '*.b.example', 'c.example/blog') });
    const left = decodeURIComponent(exclude.path) + exclude.text;
    expect(left).toContain('a.example');
    expect(left).not.toMatch(/[bc]\.example/); // the engine would exclude too much
    if (driver !== 'searxng') expect(left).toContain('15');
  });

  it.each<[string, () => ScriptedResponse, object]>([
    ['HTML', () => htmlPage(200), { reason: 'malformed' }],
    ['no body', () => emptyBody(), { reason: 'malformed' }],
    ['another shape', () => json({ status: 'ok' }), { reason: 'malformed' }],
    ['a list', () => json([]), { reason: 'malformed' }],
    ['null', () => json(null), { reason: 'malformed' }],
    ['results that are no list', () => json(answers[driver]({ map: () => 'x' } as never)), { reason: 'malformed' }],
    ['status 401', () => json({ error: secret }, { status: 401 }), { reason: 'status', status: 401 }],
    ['status 500', () => htmlPage(500), { reason: 'status', status: 500 }],
    ['a redirect', () => redirect('http://127.0.0.1:1/'), { reason: 'status', status: 302 }],
    ['a long wait', () => limited('60'), { reason: 'status', status: 429, retryAfterSeconds: 60 }],
    ['a wait until a date', () => limited('Mon, 01 Jan 2001 00:00:00 GMT', 2), { status: 429, retryAfterSeconds: 0 }],
    ['a wait without end', () => limited('999999999'), { status: 429, retryAfterSeconds: 3600 }],
    ['status 429 without a wait', () => limited(undefined), { reason: 'status', status: 429 }],
    ['a reset connection', () => resetBeforeHeaders(), { reason: 'unreachable' }],
    ['a truncated body', () => resetAfter(20, json(answers[driver]([page(1)]))), { reason: 'interrupted' }],
    ['50 MB', () => hugeBody(50 * 1024 * 1024), { reason: 'too_large' }],
  ])('fails on %s, and the error has no secret', async (_, answer, expected) => {
    upstream.respond(answer());
    const error = await search(driver).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject(expected);
    expect(`${(error as Error).message} ${JSON.stringify(error)}`).not.toContain(secret);
    expect((error as Error).message).toMatch(/^The search engine exa /);
  });

  it('stops waiting for a server that is silent, that never ends, or that is slow', async () => {
    const answer = json(answers[driver]([page(1)]));
    for (const slow of [stallBeforeHeaders(), stallAfter(10, answer), throttle(answer, 1, 50)]) {
      upstream.respond(slow);
      await expect(search(driver, {}, { timeoutMs: 100 })).rejects.toMatchObject({ reason: 'timeout' });
      expect(await upstream.requests.at(-1)!.closed).toBe('aborted');
    }
  });
});

/** A rejection for the rate, as often as the search may be repeated. */
function limited(retryAfter: string | undefined, times = 1): ScriptedResponse {
  const answer = json(
    { error: 'slow down' },
    { status: 429, headers: retryAfter ? { 'retry-after': retryAfter } : {} },
  );
  for (let again = 1; again < times; again++) upstream.respond(answer);
  return answer;
}

it('repeats a search once after a short wait', async () => {
  upstream.respond(limited('0'));
  upstream.respond(json(answers.brave([page(1)])));
  expect(await search('brave')).toHaveLength(1);
});

it('ends when its signal does, before, during and between its requests', async () => {
  const reason = new Error('The client has disconnected.');
  const begin = (signal: AbortSignal) => searchWeb(call, engineOf('exa'), order, signal);
  await expect(begin(AbortSignal.abort(reason))).rejects.toBe(reason);
  for (const answer of [stallBeforeHeaders(), limited('2')]) {
    const controller = new AbortController();
    upstream.respond(answer);
    const count = upstream.requests.length;
    const searching = begin(controller.signal);
    await expect.poll(() => upstream.requests.length).toBe(count + 1);
    controller.abort(reason);
    await expect(searching).rejects.toBe(reason);
  }
});

it('says that an engine cannot be reached', async () => {
  await expect(search('tavily', {}, { baseUrl: 'http://127.0.0.1:9' })).rejects.toMatchObject({
    reason: 'unreachable',
    message: 'The search engine exa cannot be reached (ECONNREFUSED).',
  });
});

it('shortens the query, and keeps it in one line', async () => {
  const { body } = await requestOf('exa', { query: `  one\n\ttwo\u0000 ${'😀'.repeat(300)}` });
  const { query } = body as { query: string };
  expect(query).toMatch(/^one two (?:😀)+$/u);
  expect(query.length).toBeLessThanOrEqual(400);
  const brave = await requestOf('brave', { query: 'word '.repeat(80), include: filters('a.example') });
  expect(new URL(brave.path, 'http://x').searchParams.get('q')!.split(' ')).toHaveLength(50);
});

it.each([
  ['exa', 'deep', { type: 'deep' }],
  ['exa', 'turbo', { type: 'auto' }],
  ['tavily', 'advanced', { search_depth: 'advanced' }],
  ['tavily', undefined, { search_depth: 'basic' }],
  ['parallel', 'turbo', { mode: 'turbo' }],
  ['parallel', 'deep', { mode: 'basic' }],
] as const)('%s: the mode %s', async (driver, mode, expected) => {
  expect((await requestOf(driver, { mode })).body).toMatchObject(expected);
});

it('requests text of the wanted length, and at most as many results as the engine has', async () => {
  expect((await requestOf('exa', { maxCharacters: 777 })).body).toMatchObject({
    numResults: 5,
    contents: { text: { maxCharacters: 777 } },
  });
  expect((await requestOf('parallel', { maxCharacters: 777 })).body).toMatchObject({
    advanced_settings: { max_results: 5, excerpt_settings: { max_chars_per_result: 777 } },
  });
  expect((await requestOf('perplexity', { count: 25 })).body).toMatchObject({ max_results: 20 });
});

it('joins the excerpts of a page', async () => {
  const result = { url: 'https://a.example/', title: 'A', excerpts: ['One.', ' ', 7, 'Two.', 'One.'] };
  upstream.respond(json({ results: [result] }));
  expect(await search('parallel')).toMatchObject([{ content: 'One.\n[...]\nTwo.' }]);
  upstream.respond(json({ success: true, data: [{ ...result, markdown: '# A', description: 'a' }] }));
  expect(await search('firecrawl')).toMatchObject([{ content: '# A' }]);
  upstream.respond(bytes(JSON.stringify({ results: [{ ...result, highlights: ['High.'] }] })));
  expect(await search('exa')).toMatchObject([{ content: 'High.' }]);
});

it.each([
  '',
  ' ',
  'no-dot',
  'a b.example',
  'ftp://a.example',
  'user@a.example',
  'a.*.example',
  'x'.repeat(2000),
])('a domain filter rejects %j', (entry) => {
  expect(parseDomainFilter(entry)).toBeUndefined();
});
