import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/test-gateway.ts';
import type { Json } from '../api/manage.ts';
import { readSent } from './sent.ts';
import { call, type Mode, modes, openToolLab, shownItems, type ToolLab, type WireName, wireNames } from './lab.ts';

const type = 'router:file_search';
const otherKey = 'test-other-workspace-key-1';

let lab: ToolLab;
let refunds: Json;
let prices: Json;
beforeAll(async () => {
  lab = await openToolLab({
    bootstrap: { keys: [{ key: otherKey, name: 'elsewhere', workspace: 'other', acts_as: 'organization' }] },
  });
  refunds = await upload(
    'policies/refunds.md',
    '# Refunds\n\nCustomers get a refund within 30 days.\n\n# Support\n\nCall us.',
  );
  prices = await upload('prices.csv', 'product,price\ntea,3\ncoffee,4\n');
});
afterAll(() => lab.close());

async function upload(filename: string, text: string, key: string = testKeys.key): Promise<Json> {
  const form = new FormData();
  form.append('file', new Blob([text]), filename);
  const response = await fetch(`${lab.gateway.url}/api/v1/files`, {
    method: 'POST',
    body: form,
    headers: { authorization: `Bearer ${key}` },
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Json;
}

interface Run {
  wire?: WireName;
  mode?: Mode;
  tool?: object;
  queries?: string[];
  request?: object;
  key?: string;
  text?: string;
}

async function run({ wire = 'openai-chat', mode = 'buffered', tool = { type }, ...rest }: Run) {
  const { queries = ['refund'], request = {}, key = testKeys.key, text = 'Done.' } = rest;
  lab.takeRequests();
  lab.script(wire, { calls: [call('router_file_search', { queries })] }, { text });
  const served = await lab.respond(wire, mode, { tools: [tool], ...request }, { key });
  expect(served.body.error).toBeFalsy();
  const [item] = shownItems(served) as Json[];
  return { item, served, requests: lab.takeRequests() };
}

async function refuse(tool: object, key: string = testKeys.key): Promise<string> {
  const served = await lab.respond('openai-chat', 'buffered', { tools: [tool] }, { key });
  expect(served.status).toBe(400);
  return served.body.error!.message;
}

describe.each(modes)('%s', (mode) => {
  it.each(wireNames)(`${type} gives the model the passages, through %s`, async (wire) => {
    const { item, served, requests } = await run({ wire, mode, queries: ['when do refunds end?', 'return'] });
    expect(served.body.status).toBe('completed');
    expect(item).toMatchObject({ type, status: 'completed', queries: ['when do refunds end?', 'return'] });
    expect(item.id).toMatch(/^fs_/);
    expect(item.results[0]).toMatchObject({
      file_id: refunds.id,
      filename: 'policies/refunds.md',
      text: expect.stringContaining('within 30 days'),
      attributes: { mime_type: 'text/markdown', bytes: expect.any(Number), created_at: expect.any(Number) },
    });
    expect(item.results[0].score).toBeGreaterThan(0);
    expect(item.results[0].score).toBeLessThanOrEqual(1);
    expect(requests[1]!.text).toContain('within 30 days');
    expect(served.events.map(({ type: name }) => name).filter((name) => name.includes('file_search'))).toEqual([]);
  });

  it.each(
    wireNames.filter((wire) => wire !== 'openai-responses'),
  )('file_search with files of the gateway is the same tool, through %s', async (wire) => {
    const tool = { type: 'file_search', vector_store_ids: ['policies/', prices.id], max_num_results: 1 };
    const include = ['file_search_call.results'];
    const shown = await run({ wire, mode, tool, request: { include } });
    expect(shown.item).toMatchObject({ type: 'file_search_call', status: 'completed', queries: ['refund'] });
    expect(shown.item.results).toHaveLength(1);
    expect(shown.item.results[0]).toMatchObject({ file_id: refunds.id, text: expect.stringContaining('30 days') });
    const words = shown.served.events.map((event) => event.type).filter((name) => name.includes('file_search'));
    if (mode === 'streamed') {
      const prefix = 'response.file_search_call';
      expect(words).toEqual([`${prefix}.in_progress`, `${prefix}.searching`, `${prefix}.completed`]);
    }
    const { item } = await run({ wire, mode, tool });
    expect(item.results).toBeNull();
  });

  it('cites a file that the model links to, and no other one', async () => {
    const text = `It is 30 days, see [refunds.md](${refunds.id}).`;
    const { served } = await run({ mode, queries: ['refund coffee'], text });
    const message = served.body.output.at(-1) as Json;
    expect(message.content[0].text).toBe(text);
    expect(message.content[0].annotations).toEqual([
      { type: 'file_citation', file_id: refunds.id, filename: 'policies/refunds.md', index: text.length - 1 },
    ]);
  });

  it('replays its items', async () => {
    const { item } = await run({ mode });
    lab.takeRequests();
    lab.script('openai-chat', { text: 'Yes.' });
    const input = [{ role: 'user', content: 'And?' }, item, { role: 'user', content: 'Sure?' }];
    await lab.respond('openai-chat', mode, { tools: [{ type }], input });
    const messages = JSON.parse(lab.takeRequests()[0]!.text).messages as Json[];
    expect(messages.find(({ tool_calls: calls }) => calls)?.tool_calls[0].function.name).toBe('router_file_search');
    expect(JSON.parse(messages.find(({ role }) => role === 'tool')!.content).results[0].file_id).toBe(refunds.id);
  });
});

describe.each(wireNames)('items of file_search in the input, through %s', (wire) => {
  const replay = async (item: object) => {
    lab.takeRequests();
    lab.script(wire, { text: 'Yes.' });
    const input = [{ role: 'user', content: 'And?' }, item, { role: 'user', content: 'Sure?' }];
    const tools = [{ type: 'file_search', vector_store_ids: ['workspace'] }];
    const served = await lab.respond(wire, 'buffered', { tools, input });
    expect(served.body.error?.message).toBeUndefined();
    const [request] = lab.takeRequests();
    return { sent: readSent(wire, request!), text: request!.text };
  };

  it('become calls of the function that the model sees, with and without results', async () => {
    const tool = { type: 'file_search', vector_store_ids: ['workspace'] };
    const { item } = await run({ wire, tool, request: { include: ['file_search_call.results'] } });
    const { sent } = await replay(item);
    expect(sent.calls).toMatchObject([{ name: 'router_file_search', value: { queries: ['refund'] } }]);
    expect(JSON.stringify(sent.results)).toContain('within 30 days');
    const bare = (await run({ wire, tool })).item;
    expect(bare.results).toBeNull();
    const again = await replay(bare);
    expect(again.sent.calls).toMatchObject([{ name: 'router_file_search', value: { queries: ['refund'] } }]);
    expect(JSON.stringify(again.sent.results)).toContain('not in the conversation any more');
  });

  it('of a provider go back to it, or become calls', async () => {
    const results = [{ file_id: 'file-1', filename: 'a.pdf', score: 0.9, text: 'Pumps heat.' }];
    const given = { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['pumps'] };
    const { sent, text } = await replay({ ...given, results });
    expect(text).toContain('Pumps heat.');
    if (!text.includes('"file_search_call"')) expect(sent.calls).toMatchObject([{ name: 'router_file_search' }]);
    const bare = await replay(given);
    if (!bare.text.includes('"file_search_call"')) expect(bare.text).toContain('not in the conversation any more');
  });
});

describe('a search', () => {
  const found = async (query: string, tool: object = { type }): Promise<string[]> => {
    const { item } = await run({ queries: [query], tool });
    return [...new Set<string>(item.results.map(({ filename }: Json) => filename))];
  };
  const search = (parameters: object) => ({ type, parameters });

  it('finds the files of its workspace only', async () => {
    const secret = await upload('secret.txt', 'A refund of the other workspace', otherKey);
    const { item } = await run({ key: otherKey });
    expect(item.results.map(({ file_id: id }: Json) => id)).toEqual([secret.id]);
    expect(await found('other workspace')).not.toContain('secret.txt');
    expect(await refuse(search({ file_ids: [secret.id] }))).toContain('there is no file');
  });

  it('reads words, and no syntax', async () => {
    expect(await found('"refund" AND NOT (coffee*) -days: NEAR/2')).toContain('policies/refunds.md');
    expect(await found("refund' OR 1=1; --")).toContain('policies/refunds.md');
    const { item } = await run({ queries: ['?! "*"'] });
    expect(item.error).toContain('no words');
  });

  it('is limited by files, folders, filters, the number of results and the score', async () => {
    const both = ['policies/refunds.md', 'prices.csv'];
    const query = 'refund coffee';
    expect((await found(query)).toSorted()).toEqual(both);
    expect(await found(query, search({ file_ids: [prices.id] }))).toEqual(['prices.csv']);
    expect(await found(query, search({ folders: ['policies/'] }))).toEqual(['policies/refunds.md']);
    expect(await found(query, search({ max_num_results: 1 }))).toHaveLength(1);
    expect(await found(query, search({ ranking_options: { score_threshold: 0.95 } }))).toEqual([]);
    const filters = { type: 'eq', key: 'mime_type', value: 'text/csv' };
    expect(await found(query, search({ filters }))).toEqual(['prices.csv']);
    const not = { type: 'and', filters: [{ type: 'ne', key: 'filename', value: ['prices.csv'] }] };
    expect(await found(query, search({ filters: not }))).toEqual(['policies/refunds.md']);
  });

  it.each<[string, object, string]>([
    ['an unknown file', { file_ids: ['file_w0000'] }, 'tools[0].parameters.file_ids[0]: there is no file "file_w0000"'],
    ['an unknown folder', { folders: ['nope/'] }, 'tools[0].parameters.folders[0]: no file name in this workspace'],
    ['an id of a provider', { file_ids: ['file-1'] }, 'must be the id of a stored file'],
    ['a folder without a slash', { folders: ['policies'] }, 'with / at the end'],
    ['no results', { max_num_results: 0 }, 'must be from 1 to 50'],
    ['a score above 1', { ranking_options: { score_threshold: 2 } }, 'must be from 0 to 1'],
    [
      'an unknown field',
      { filters: { type: 'eq', key: 'author', value: 'x' } },
      'must be one of `file_id`, `filename`',
    ],
    ['a wrong value', { filters: { type: 'gt', key: 'bytes', value: 'x' } }, 'must be a number for `bytes`'],
  ])('rejects %s', async (_, parameters, says) => {
    expect(await refuse(search(parameters))).toContain(says);
  });

  it.each<[string, object, string]>([
    ['stores of a provider', { vector_store_ids: ['vs_1'] }, 'has no file search of its own, and "vs_1"'],
    ['no stores', { vector_store_ids: [] }, 'has no file search of its own, and an empty list'],
    ['stores and files', { vector_store_ids: ['workspace', 'vs_1'] }, 'mixes files of the gateway with "vs_1"'],
    ['an unknown file', { vector_store_ids: ['file_w0000'] }, 'tools[0].vector_store_ids[0]: there is no file'],
    [
      'an unknown field',
      { vector_store_ids: ['workspace'], filters: { type: 'eq', key: 'a', value: 1 } },
      'must be one of',
    ],
  ])('as file_search rejects %s', async (_, fields, says) => {
    expect(await refuse({ type: 'file_search', ...fields })).toContain(says);
  });

  it('leaves stores of a provider to the provider', async () => {
    lab.takeRequests();
    lab.script('openai-responses', { text: 'Done.' });
    const tool = { type: 'file_search', vector_store_ids: ['vs_1'] };
    await lab.respond('openai-responses', 'buffered', { tools: [tool] });
    expect(JSON.parse(lab.takeRequests()[0]!.text).tools).toEqual([tool]);
  });

  it('runs at the gateway for every endpoint if it names files of the gateway', async () => {
    const tool = { type: 'file_search', vector_store_ids: ['workspace'] };
    const { item, requests } = await run({ wire: 'openai-responses', tool });
    expect(item.type).toBe('file_search_call');
    expect(JSON.parse(requests[0]!.text).tools[0]).toMatchObject({ type: 'function', name: 'router_file_search' });
  });

  it('does not find a deleted file, and finds a changed one once', async () => {
    const file = await upload('temporary.txt', 'The zebra is striped.');
    expect(await found('zebra')).toEqual(['temporary.txt']);
    await lab.gateway.send('DELETE', `/files/${file.id}`);
    expect(await found('zebra')).toEqual([]);
  });

  it('finds words of other languages, and other forms of a word', async () => {
    await upload('sprachen.txt', 'Die Rechnungen der Kunden. 東京都の天気は晴れです。 Счета клиентов.');
    for (const query of ['Rechnung', '天気', 'счет', 'RECHNUNGEN'])
      expect(await found(query)).toEqual(['sprachen.txt']);
  });
});

describe('the simulator', () => {
  it.each(modes)('searches for the message of the user, %s', async (mode) => {
    const request = {
      model: 'simulator/echo',
      input: 'refund period',
      tools: [{ type }],
      tool_choice: { type },
      provider: {},
    };
    const served = await lab.respond('openai-chat', mode, request);
    const [item, message] = served.body.output as Json[];
    expect(item).toMatchObject({ type, status: 'completed', queries: ['refund period'] });
    expect(item.results[0]).toMatchObject({ filename: 'policies/refunds.md' });
    expect(message.content[0].text).toContain('within 30 days');
  });
});
