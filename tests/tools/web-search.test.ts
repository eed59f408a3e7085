import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { htmlPage, json, stallBeforeHeaders } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { newSession, rowsOf } from '../api/ledger-rows.ts';
import { main, manage } from '../api/manage.ts';
import type { Turn } from '../clients/turn.ts';
import { readSent } from './sent.ts';
import { call, modes, openToolLab, type Served, shownItems, stageOf, type ToolLab, wireNames } from './lab.ts';

const engineKey = 'key-of-the-engine-1234567890';
let engine: ScriptedUpstream;
let lab: ToolLab;
/** Gateways whose endpoints have a search of their own unless a dialect says otherwise. */
const plainDialects = {
  'openai-responses': { native_search: false },
  'anthropic-messages': { native_search: false },
  gemini: { native_search: false },
};
beforeAll(async () => {
  engine = await startUpstream();
  lab = await openToolLab(
    {
      tools: {
        web_search: {
          engines: {
            exa: {
              driver: 'exa',
              base_url: engine.url,
              api_key: engineKey,
              price_per_search: 0.007,
              timeout_ms: 30_000,
            },
            parallel: { driver: 'parallel', base_url: engine.url, api_key: engineKey },
          },
        },
      },
    },
    plainDialects,
  );
});
afterAll(async () => {
  await lab.close();
  await engine.close();
});

const tool = { type: 'router:web_search' };
const results = [
  { url: 'https://pumps.example/winter', title: 'Heat pumps', text: 'They work.' },
  { url: 'https://other.example/', title: 'Other', text: 'Other text.' },
];
const find = (found: object[] = results) => engine.respond(json({ results: found }));
const search = (query: string) => call('router_web_search', { query });
const searching = (...queries: string[]): Turn => ({ calls: queries.map(search) });
const link = '[pumps.example](https://pumps.example/winter)';
const answering: Turn = { text: `Yes: ${link}.` };

interface Annotation {
  url: string;
  start_index: number;
  end_index: number;
}
const annotationsOf = (served: Served): Annotation[] =>
  served.body.output
    .flatMap((item) => (item as { content?: { annotations?: Annotation[] }[] }).content ?? [])
    .flatMap(({ annotations = [] }) => annotations);

describe.each(wireNames)('router:web_search on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    const respond = async (request: object, ...turns: Turn[]) => {
      lab.takeRequests();
      lab.script(wire, ...turns);
      const served = await lab.respond(wire, mode, { tools: [tool], ...request });
      return { served, sent: lab.takeRequests().map(({ text }) => text) };
    };

    it('searches when the model asks, and shows the client the query and the sources', async () => {
      find();
      const session = newSession();
      const { served, sent } = await respond({ session_id: session }, searching('heat pumps winter'), answering);

      expect(served.body).toMatchObject({ status: 'completed', error: null });
      const [item, message] = shownItems(served);
      expect(item).toMatchObject({
        type: 'router:web_search',
        status: 'completed',
        id: expect.stringMatching(/^ws_/),
        action: {
          type: 'search',
          query: 'heat pumps winter',
          sources: results.map(({ url }) => ({ type: 'url', url })),
        },
      });
      expect(engine.requests.at(-1)!.body).toMatchObject({ query: 'heat pumps winter', numResults: 5 });
      expect(sent[0]).toContain('router_web_search');
      expect(sent[1]).toContain('They work.');
      expect(sent.join()).not.toContain(engineKey);
      const text = answering.text!;
      expect(message).toMatchObject({ content: [{ text }] });
      expect(
        annotationsOf(served).map(({ url, start_index, end_index }) => [url, text.slice(start_index, end_index)]),
      ).toEqual([
        ['https://pumps.example/winter', link],
        ['https://other.example/', ''],
      ]);
      expect(served.body.usage).toMatchObject({
        cost_details: { server_tool_cost: 0.007 },
        server_tool_use_details: { tool_calls_requested: 1, tool_calls_executed: 1, web_search_requests: 1 },
        server_tool_use: { web_search_requests: 1 },
      });
      const [row] = await rowsOf(lab.gateway.dataDir, session);
      expect(row).toMatchObject({ web_searches: 1, cost_nano_usd: Math.round(served.body.usage!.cost! * 1e9) });
      expect(stageOf(served)).toMatchObject({ mode: 'sdk', tools: ['router:web_search'], steps: 1 });
    });

    it('runs the hosted tool web_search, with items of that kind', async () => {
      find([results[0]!]);
      const hosted = { type: 'web_search', max_results: 99, filters: { allowed_domains: ['pumps.example'] } };
      const { served, sent } = await respond(
        { tools: [hosted], tool_choice: { type: 'web_search_preview' } },
        searching('heat pumps'),
        answering,
      );
      expect(served.body).toMatchObject({ status: 'completed', error: null });
      expect(shownItems(served)[0]).toMatchObject({
        type: 'web_search_call',
        status: 'completed',
        action: { type: 'search', query: 'heat pumps', sources: [{ type: 'url', url: results[0]!.url }] },
      });
      if (mode === 'streamed') {
        const types = served.events.map(({ type }) => type).filter((type) => type.includes('web_search_call'));
        expect(types).toEqual(
          ['in_progress', 'searching', 'completed'].map((word) => `response.web_search_call.${word}`),
        );
        const ids = served.events.flatMap((event) =>
          event.type.includes('web_search_call') ? (event as { item_id?: string }).item_id : [],
        );
        expect(new Set(ids)).toEqual(new Set([shownItems(served)[0]!.id]));
      }
      expect(engine.requests.at(-1)!.body).toMatchObject({ includeDomains: ['pumps.example'], numResults: 75 });
      expect(sent[0]).toContain('router_web_search');
      expect(served.body.router_metadata?.params).not.toHaveProperty('dropped_fields');
      expect(annotationsOf(served)).toHaveLength(1);
    });

    it('replays earlier searches with the URLs that they have', async () => {
      const item = {
        type: 'router:web_search',
        id: 'ws_1',
        status: 'completed',
        action: { type: 'search', query: 'earlier query', sources: [{ type: 'url', url: 'https://earlier.example/' }] },
      };
      const input = [{ role: 'user', content: 'Search.' }, item, { role: 'user', content: 'And now?' }];
      const { served, sent } = await respond({ input }, { text: 'Done.' });
      expect(served.body).toMatchObject({ status: 'completed' });
      expect(sent[0]).toContain('earlier query');
      expect(sent[0]).toContain('https://earlier.example/');
    });

    it('tells the model when the engine fails, and charges nothing', async () => {
      engine.respond(htmlPage(500));
      const { served, sent } = await respond({}, searching('a query'), { text: 'Without a search.' });
      expect(served.body).toMatchObject({ status: 'completed', error: null });
      expect(sent[1]).toContain('The search failed: The search engine exa responded with status 500.');
      expect(shownItems(served)[0]).toMatchObject({ error: expect.stringContaining('status 500') });
      expect(served.body.usage).toMatchObject({ cost_details: { server_tool_cost: 0 } });
      expect(annotationsOf(served)).toEqual([]);
    });

    it('marks a hosted call whose search fails as failed', async () => {
      engine.respond(htmlPage(500));
      const { served } = await respond({ tools: [{ type: 'web_search' }] }, searching('a query'), { text: 'Done.' });
      expect(served.body).toMatchObject({ status: 'completed', error: null });
      expect(shownItems(served)[0]).toMatchObject({ type: 'web_search_call', status: 'failed' });
      expect(served.events.map(({ type }) => type)).not.toContain('response.web_search_call.completed');
    });

    it('stops the search when the client disconnects', async () => {
      engine.respond(stallBeforeHeaders());
      lab.script(wire, searching('a query'));
      const controller = new AbortController();
      const count = engine.requests.length;
      const asking = lab.respond(wire, mode, { tools: [tool] }, { signal: controller.signal }).catch(() => 'gone');
      await expect.poll(() => engine.requests.length).toBe(count + 1);
      controller.abort();
      expect(await asking).toBe('gone');
      expect(await engine.requests.at(-1)!.closed).toBe('aborted');
      lab.takeRequests();
    });
  });
});

describe('limits of router:web_search', () => {
  const respond = async (parameters: object, ...turns: Turn[]) => {
    lab.takeRequests();
    lab.script('openai-chat', ...turns);
    const served = await lab.respond('openai-chat', 'buffered', { tools: [{ ...tool, parameters }] });
    return { served, sent: lab.takeRequests().map(({ text }) => text) };
  };

  it('max_uses and max_total_results count the whole response, also of parallel calls', async () => {
    find();
    const uses = await respond({ max_uses: 1 }, searching('one', 'two'), { text: 'Done.' });
    expect(uses.sent[1]).toContain('No search is left: max_uses is 1.');
    expect(uses.served.body.usage).toMatchObject({ server_tool_use_details: { web_search_requests: 1 } });
    const count = engine.requests.length;
    const found = Array.from({ length: 5 }, (_, at) => ({ url: `https://a${at}.example/`, title: 'A' }));
    find(found);
    find(found);
    const total = await respond({ max_total_results: 7 }, searching('one'), searching('two', 'three'), {
      text: 'Done.',
    });
    expect(engine.requests.slice(count).map(({ body }) => (body as { numResults: number }).numResults)).toEqual([5, 2]);
    expect(total.sent[2]).toContain('No result is left: max_total_results is 7.');
  });

  it.each([
    [{}, 5, 3000],
    [{ max_results: 2, max_characters: 500, search_context_size: 'high' }, 2, 500],
    [{ search_context_size: 'medium' }, 5, 15_000],
    [{ max_results: 25, search_context_size: 'high' }, 25, 8000],
  ])('text by max_characters, else by search_context_size: %j', async (parameters, numResults, maxCharacters) => {
    find();
    await respond(parameters, searching('one'), { text: 'Done.' });
    expect(engine.requests.at(-1)!.body).toMatchObject({ numResults, contents: { text: { maxCharacters } } });
  });

  it('shares search_context_size among the results of parallel', async () => {
    find();
    await respond({ engine: 'parallel', search_context_size: 'low' }, searching('one'), { text: 'Done.' });
    expect(engine.requests.at(-1)!.body).toMatchObject({
      advanced_settings: { excerpt_settings: { max_chars_per_result: 1000 } },
    });
  });

  it('a budget that the price exceeds is an error for the model, and no search is made', async () => {
    const made = { name: 'poor', workspace_id: main, limit: 0.006 };
    const { key } = (await manage(() => lab.gateway)('POST', '/keys', made)).body as { key: string };
    lab.takeRequests();
    lab.script('openai-chat', searching('one'), { text: 'Without a search.' });
    const count = engine.requests.length;
    const request = { tools: [tool], max_output_tokens: 20 };
    const served = await lab.respond('openai-chat', 'buffered', request, { key });
    expect(served.status).toBe(200);
    expect(lab.takeRequests()[1]!.text).toContain('plugins, tools and earlier model calls');
    expect(engine.requests).toHaveLength(count);
  });

  it.each([
    [
      { engine: 'firecrawl' },
      'tools[0].parameters.engine: The search engine firecrawl is not configured: set tools.web_search.engines.firecrawl.',
    ],
    [{ max_results: 26 }, 'tools[0].parameters.max_results'],
    [{ max_characters: 0 }, 'tools[0].parameters.max_characters'],
    [{ allowed_domains: ['a b'] }, 'tools[0].parameters.allowed_domains[0]: must be a domain'],
    [
      { engine: 'parallel', allowed_domains: ['a.example'], excluded_domains: ['b.example'] },
      'tools[0].parameters.excluded_domains',
    ],
    [{ colour: 'red' }, 'tools[0].parameters'],
  ])('wrong parameters are a 400: %j', async (parameters, message) => {
    const { status, body } = await lab.respond('openai-chat', 'buffered', { tools: [{ ...tool, parameters }] });
    expect(status).toBe(400);
    expect(body.error!.message).toContain(message);
  });
});

it.each([
  'openai-chat',
  'openai-responses',
] as const)('a hosted search with an engine that is not configured is a 400 that names it, through %s', async (wire) => {
  const { status, body } = await lab.respond(wire, 'buffered', {
    tools: [{ type: 'web_search', engine: 'firecrawl' }],
  });
  expect(status).toBe(400);
  expect(body.error!.message).toContain('The search engine firecrawl is not configured');
});

describe('an endpoint with a search of its own', () => {
  let native: ToolLab;
  beforeAll(async () => {
    native = await openToolLab({});
  });
  afterAll(() => native.close());

  it.each(modes)('searches itself, %s, also where no engine is configured', async (mode) => {
    native.script('anthropic-messages', { text: 'Done.' });
    const parameters = { allowed_domains: ['a.example'], max_uses: 2, user_location: { city: 'Bern' } };
    const choice = { type: 'router:web_search' };
    const served = await native.respond('anthropic-messages', mode, {
      tools: [{ ...tool, parameters }],
      tool_choice: choice,
    });
    expect(served.body).toMatchObject({ status: 'completed' });
    expect(native.takeRequests()[0]!.body).toMatchObject({
      tools: [{ name: 'web_search', allowed_domains: ['a.example'], max_uses: 2, user_location: { city: 'Bern' } }],
      tool_choice: { type: 'tool', name: 'web_search' },
    });
  });

  it('is a 400 that names the setting where neither can search', async () => {
    const { status, body } = await native.respond('openai-chat', 'buffered', { tools: [tool] });
    expect(status).toBe(400);
    expect(body.error!.message).toContain('set tools.web_search.engines.exa');
  });
});

describe.each(wireNames)('a hosted web_search_call in the input on %s', (wire) => {
  const action = { type: 'search', query: 'heat pumps', sources: [{ type: 'url', url: 'https://pumps.example/' }] };
  const send = async (item: object) => {
    lab.takeRequests();
    lab.script(wire, { text: 'Done.' });
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', ...item };
    const answer = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [] };
    const text = { type: 'output_text', text: 'They heat.', annotations: [] };
    const input = [
      { role: 'user', content: 'Pumps?' },
      search,
      { ...answer, content: [text] },
      { role: 'user', content: 'Sure?' },
    ];
    const { body } = await lab.respond(wire, 'buffered', { input, tools: [tool] });
    expect(body.status).toBe('completed');
    const [request] = lab.takeRequests();
    return { sent: readSent(wire, request!), text: request!.text };
  };

  it('shows the model the search and the pages that it names', async () => {
    const { sent, text } = await send({ action });
    if (text.includes('"web_search_call"')) return expect(text).toContain('https://pumps.example/'); // it has such items
    expect(sent.calls).toMatchObject([{ name: 'router_web_search', value: { query: 'heat pumps' } }]);
    expect(sent.results.map(({ value }) => JSON.stringify(value))).toEqual([
      expect.stringContaining('https://pumps.example/'),
    ]);
  });

  it('shows nothing of a search without pages', async () => {
    const { sent } = await send({ action: { type: 'search', query: 'heat pumps' } });
    expect(sent.calls).toEqual([]);
  });
});
