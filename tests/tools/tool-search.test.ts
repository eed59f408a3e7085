import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, shownItems, type ToolLab, wireNames } from './lab.ts';

const search = { type: 'router:tool_search' };
const text = (description: string) => ({ type: 'string', description });
const define = (
  name: string,
  description: string,
  properties: object = {},
  more: object = { defer_loading: true },
) => ({
  type: 'function',
  name,
  description,
  parameters: { type: 'object', properties },
  ...more,
});
const visible = define('ask_user', 'Asks the user.', {}, {});
const weather = define('get_weather', 'Returns the forecast.', { city: text('Name of a town.') });
const mail = define('send_mail', 'Sends a message.', { to: text('An address.') });
const group = {
  type: 'namespace',
  name: 'crm',
  description: 'Customers.',
  tools: [define('list_leads', 'Lists leads.'), define('add_note', 'Adds a note.', {}, {})],
};
const tools = [weather, visible, search, mail];
const searching = (query: string, more: object = {}): Turn => ({
  calls: [call('router_tool_search', { query, ...more })],
});
const answering: Turn = { text: 'Done.' };

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
});
afterAll(() => lab.close());

describe.each(wireNames)('router:tool_search on %s', (wire) => {
  it.each(modes)('shows the model a tool once a search has found it, %s', async (mode) => {
    lab.takeRequests();
    lab.script(wire, searching('FORE.ast'), { calls: [call('get_weather', { city: 'Oslo' })] });
    const served = await lab.respond(wire, mode, { tools });

    expect(served.body.status).toBe('completed');
    expect(shownItems(served)).toMatchObject([
      { type: 'router:tool_search', status: 'completed', query: 'FORE.ast' },
      { type: 'function_call', name: 'get_weather' },
    ]);
    const [first, second] = lab.takeRequests();
    expect(first!.text).toContain('ask_user');
    expect(first!.text).not.toMatch(/get_weather|send_mail|defer_loading/);
    expect(second!.text).toContain('Name of a town.');
    expect(second!.text).not.toMatch(/send_mail|defer_loading/);
    expect(second!.text.lastIndexOf('"ask_user"')).toBeLessThan(second!.text.lastIndexOf('Name of a town.'));
    expect(served.body.router_metadata?.params).not.toHaveProperty('dropped_fields');
    expect(served.body.tools).toHaveLength(3); // the echo has the tools of the client
  });
});

describe.each(modes)('router:tool_search, %s', (mode) => {
  const wire = 'openai-chat';
  async function run(request: object, ...turns: Turn[]) {
    lab.takeRequests();
    lab.script(wire, ...turns);
    const served = await lab.respond(wire, mode, { tools, ...request });
    const requests = lab.takeRequests().map(({ body }) => body as { tools?: { function: { name: string } }[] });
    return { served, names: requests.map(({ tools: sent = [] }) => sent.map((tool) => tool.function.name)), requests };
  }
  const results = (served: Awaited<ReturnType<typeof run>>['served']) =>
    JSON.parse(String(shownItems(served)[0]!['result'])) as { tools: { name: string; description: string }[] };

  it.each([
    ['weather|mail', ['get_weather', 'send_mail']],
    ['^get_', ['get_weather']],
    ['an ADDRESS', ['send_mail']],
    ['^city$', ['get_weather']],
    ['nothing like it', []],
  ])('searches names, descriptions and arguments for %s', async (query, found) => {
    const { served, names } = await run({}, searching(query), answering);
    expect(results(served).tools.map(({ name }) => name)).toEqual(found);
    expect(names[1]).toEqual(['ask_user', 'router_tool_search', ...found]);
  });

  it('returns at most max_results tools, of the request and of the call', async () => {
    const one = await run(
      { tools: [{ ...search, parameters: { max_results: 1 } }, weather, mail, visible] },
      searching('.'),
      answering,
    );
    expect(results(one.served).tools).toHaveLength(1);
    const called = await run({}, searching('.', { max_results: 1 }), answering);
    expect(results(called.served).tools).toHaveLength(1);
    const many = Array.from({ length: 60 }, (_, at) => define(`tool_${at}`, 'One of many.'));
    const most = await run(
      { tools: [{ ...search, parameters: { max_results: 500 } }, ...many] },
      searching('many'),
      answering,
    );
    expect(results(most.served).tools).toHaveLength(50);
  });

  it.each([
    ['a'.repeat(201), 'At most 200'],
    ['(', 'Unterminated'],
    ['(a)\\1', ''],
    ['(?:a{1000}){1000}', ''],
  ])('gives the model an error for the expression %.20s', async (query, says) => {
    const { served, names } = await run({}, searching(query), answering);
    expect(served.body.status).toBe('completed');
    expect(shownItems(served)[0]).toMatchObject({ query, error: expect.stringContaining(says) });
    expect(shownItems(served)[0]!['error']).not.toBe('The tool failed.');
    expect(names[1]).toEqual(['ask_user', 'router_tool_search']);
  });

  it('is fast for an expression that makes others slow', async () => {
    const slow = define('slow', 'x'.repeat(30_000));
    const { served } = await run({ tools: [search, slow] }, searching('(x+x+)+y'), answering);
    expect(results(served).tools).toEqual([]);
  });

  it('finds members of a namespace, which stay in it', async () => {
    const { names } = await run({ tools: [group, search] }, searching('leads'), answering);
    expect(names).toEqual([
      ['crm__add_note', 'router_tool_search'],
      ['crm__list_leads', 'crm__add_note', 'router_tool_search'],
    ]);
  });

  it('has another name', async () => {
    const { served, names } = await run({ tools: [weather, { type: 'tool_search' }] }, searching('weather'), answering);
    expect(shownItems(served)[0]).toMatchObject({ type: 'router:tool_search' });
    expect(names).toEqual([['router_tool_search'], ['router_tool_search', 'get_weather']]);
  });

  it('adds what it finds to a choice of allowed tools', async () => {
    const choice = { type: 'allowed_tools', mode: 'auto', tools: [search, { type: 'function', name: 'send_mail' }] };
    const { names } = await run({ tool_choice: choice }, searching('weather'), answering);
    expect(names).toEqual([
      ['router_tool_search', 'send_mail'],
      ['router_tool_search', 'send_mail', 'get_weather'],
    ]);
  });

  it('remembers the tools that the conversation has called or found', async () => {
    const first = await run({}, searching('weather'), answering);
    const input = [
      { role: 'user', content: 'Hi.' },
      ...shownItems(first.served),
      { role: 'user', content: 'And now?' },
    ];
    expect((await run({ input }, answering)).names[0]).toContain('get_weather');
    const called = [
      { role: 'user', content: 'Hi.' },
      { type: 'function_call', call_id: 'c', name: 'send_mail', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'Sent.' },
    ];
    expect((await run({ input: called }, answering)).names[0]).toEqual(['ask_user', 'router_tool_search', 'send_mail']);
  });

  it.each<[string, object, number, string]>([
    ['a forced choice', { tool_choice: 'required' }, 400, 'tool_choice'],
    ['deferred tools without it', { tools: [visible, weather] }, 400, 'tools[1].defer_loading'],
    ['a deferred search', { tools: [{ ...search, defer_loading: true }, visible] }, 400, 'tools[0].defer_loading'],
    [
      'too few results',
      { tools: [{ ...search, parameters: { max_results: 0 } }, visible] },
      400,
      'tools[0].parameters.max_results',
    ],
  ])('rejects %s', async (_, request, status, path) => {
    const { served } = await run(request);
    expect(served.status).toBe(status);
    expect(served.body.error?.metadata?.['issues']).toMatchObject([{ path }]);
  });
});
