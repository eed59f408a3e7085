import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OutputItem } from '../../src/domain/items.ts';
import type { Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, type Served, shownItems, stageOf, type ToolLab, wireNames } from './lab.ts';
import { mcpText, type ScriptedMcpServer, scriptedTools, startMcpServer } from './mcp-server.ts';

const secret = 'key-of-the-operator-1234567890';
const callersSecret = 'key-of-the-caller-1234567890';
let server: ScriptedMcpServer;
let lab: ToolLab;
beforeAll(async () => {
  server = await startMcpServer();
  const { host } = new URL(server.url);
  lab = await openToolLab(
    {
      outbound: { allow: [host] },
      mcp: {
        servers: {
          docs: { url: server.url, headers: { 'x-key': secret }, require_approval: 'never' },
          careful: { url: server.url },
          other: { url: server.url, workspaces: [] },
          reading: { url: server.url, allowed_tools: ['echo'], require_approval: 'never', description: 'Reads books.' },
        },
        max_servers: 3,
        timeout_ms: 20_000,
      },
    },
    { 'openai-responses': { native_mcp: false } },
  );
});
beforeEach(() => {
  server.reset();
  lab.takeRequests();
});
afterAll(async () => {
  await lab.close();
  await server.close();
});

const docs = { type: 'mcp', server_label: 'docs' };
const careful = { type: 'mcp', server_label: 'careful' };
const named = () => ({
  type: 'mcp',
  server_label: 'mine',
  server_url: server.url,
  authorization: callersSecret,
  require_approval: 'never',
});
const echo = (label: string, text = 'hello') => call(`${label}__echo`, { text });
const typesOf = ({ events }: Served): string[] => events.map(({ type }) => type);
const ofType = (served: Served, type: string): OutputItem[] => served.body.output.filter((item) => item.type === type);
const respond = async (
  wire: (typeof wireNames)[number],
  mode: (typeof modes)[number],
  request: object,
  ...turns: Turn[]
) => {
  lab.script(wire, ...turns);
  const served = await lab.respond(wire, mode, request);
  return { served, sent: lab.takeRequests().map(({ text }) => text) };
};

describe.each(wireNames)('mcp on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    it('lists a server of the operator, and runs the calls of the model', async () => {
      const { served, sent } = await respond(
        wire,
        mode,
        { tools: [docs] },
        { calls: [echo('docs'), echo('docs', 'again')] },
        { text: 'Done.' },
      );
      expect(served.body).toMatchObject({ status: 'completed', error: null });
      const [listing, first, second, message] = shownItems(served);
      expect(listing).toEqual({
        type: 'mcp_list_tools',
        id: expect.stringMatching(/^mcpl_/),
        server_label: 'docs',
        tools: scriptedTools.map(({ name, description, inputSchema, ...rest }) => ({
          name,
          description,
          input_schema: inputSchema,
          ...rest,
        })),
      });
      expect(first).toEqual({
        type: 'mcp_call',
        id: expect.stringMatching(/^mcp_/),
        server_label: 'docs',
        name: 'echo',
        status: 'completed',
        arguments: JSON.stringify({ text: 'hello' }),
        output: 'echo: hello',
        error: null,
      });
      expect(second).toMatchObject({ output: 'echo: again' });
      expect(message).toMatchObject({ type: 'message' });
      expect(sent).toHaveLength(2);
      expect(sent[0]).toContain('docs__write');
      expect(sent[1]).toContain('echo: hello');
      expect(server.methods().filter((method) => method === 'tools/call')).toHaveLength(2);
      expect(server.requests.every(({ headers }) => headers['x-key'] === secret)).toBe(true);
      expect(served.body.usage).toMatchObject({
        server_tool_use_details: { tool_calls_requested: 2, tool_calls_executed: 2 },
      });
      expect(stageOf(served)).toMatchObject({ tools: ['router:mcp'], steps: 2 });
      expect(JSON.stringify(served) + sent.join('')).not.toContain(secret);
      if (mode === 'buffered') return;
      const types = typesOf(served);
      const ours = types.filter((type) => type.includes('mcp'));
      expect(ours.slice(0, 2)).toEqual(['response.mcp_list_tools.in_progress', 'response.mcp_list_tools.completed']);
      for (const type of [
        'response.mcp_call.in_progress',
        'response.mcp_call_arguments.delta',
        'response.mcp_call_arguments.done',
        'response.mcp_call.completed',
      ]) {
        expect(ours.filter((each) => each === type)).toHaveLength(2);
      }
      const added = served.events.find((event) => {
        return (
          event.type === 'response.output_item.added' &&
          (event as unknown as { item: OutputItem }).item.type === 'mcp_call'
        );
      });
      expect(added).toMatchObject({ item: { arguments: '', output: null } });
    });

    it('calls the server of a caller with its key, and shows the key nowhere', async () => {
      const { served, sent } = await respond(
        wire,
        mode,
        { tools: [named()] },
        { calls: [echo('mine')] },
        { text: 'ok' },
      );
      expect(shownItems(served)).toMatchObject([
        { type: 'mcp_list_tools', server_label: 'mine' },
        { type: 'mcp_call', output: 'echo: hello' },
        { type: 'message' },
      ]);
      expect(served.body.tools).toEqual([
        { type: 'mcp', server_label: 'mine', server_url: server.url, require_approval: 'never' },
      ]);
      expect(server.requests.every(({ headers }) => headers.authorization === `Bearer ${callersSecret}`)).toBe(true);
      expect(JSON.stringify(served) + sent.join('')).not.toContain(callersSecret);
    });

    it('asks for approval, and ends the response', async () => {
      const { served, sent } = await respond(wire, mode, { tools: [careful] }, { calls: [echo('careful')] });
      expect(served.body.status).toBe('completed');
      expect(shownItems(served)).toEqual([
        expect.objectContaining({ type: 'mcp_list_tools' }),
        {
          type: 'mcp_approval_request',
          id: expect.stringMatching(/^mcpr_/),
          server_label: 'careful',
          name: 'echo',
          arguments: JSON.stringify({ text: 'hello' }),
        },
      ]);
      expect(sent).toHaveLength(1);
      expect(server.methods()).not.toContain('tools/call');
    });

    describe('after an approval request', () => {
      const ask = async (...calls: ReturnType<typeof echo>[]) => {
        const { served } = await respond(wire, mode, { tools: [docs, careful] }, { calls });
        server.requests.length = 0;
        const [request] = ofType(served, 'mcp_approval_request');
        const first = { type: 'message', role: 'user', content: 'Say hello.' };
        return { id: request!.id!, input: [first, ...served.body.output] };
      };
      const decide = (id: string, approve: boolean, reason?: string) => ({
        type: 'mcp_approval_response',
        approval_request_id: id,
        approve,
        ...(reason && { reason }),
      });

      it('runs the approved call, without listing the server again', async () => {
        const { id, input } = await ask(echo('careful'));
        const request = { tools: [docs, careful], input: [...input, decide(id, true)] };
        const { served, sent } = await respond(wire, mode, request, { text: 'Hello.' });
        const [done] = ofType(served, 'mcp_call');
        expect(done).toMatchObject({
          server_label: 'careful',
          name: 'echo',
          output: 'echo: hello',
          error: null,
          approval_request_id: id,
          arguments: JSON.stringify({ text: 'hello' }),
        });
        expect(shownItems(served).map(({ type }) => type)).toEqual(['mcp_call', 'message']);
        expect(server.methods().filter((method) => method.startsWith('tools/'))).toEqual(['tools/call']);
        expect(sent[0]).toContain('careful__echo');
        expect(sent[0]).toContain('echo: hello');
        expect(served.body.usage).toMatchObject({ server_tool_use_details: { tool_calls_executed: 1 } });

        // The next request has the call once, and does not run it again.
        server.requests.length = 0;
        const next = { tools: [docs, careful], input: [...request.input, ...served.body.output, input[0]] };
        const again = await respond(wire, mode, next, { text: 'Hello again.' });
        expect(server.requests).toEqual([]);
        expect(again.sent[0]!.split('echo: hello')).toHaveLength(2);
        expect(again.served.body.status).toBe('completed');
        expect(again.served.body.router_metadata?.params).not.toHaveProperty('dropped_fields');
      });

      it('tells the model that the call was rejected', async () => {
        const { id, input } = await ask(echo('careful'));
        const request = { tools: [docs, careful], input: [...input, decide(id, false, 'Too loud.')] };
        const { served, sent } = await respond(wire, mode, request, { text: 'I stay silent.' });
        expect(shownItems(served).map(({ type }) => type)).toEqual(['message']);
        expect(server.methods()).not.toContain('tools/call');
        expect(sent[0]).toContain('The user has rejected this call. Too loud.');
      });

      it('runs the calls without approval beside it first, and replays them', async () => {
        const { id, input } = await ask(echo('docs', 'free'), echo('careful', 'paid'));
        expect(input.map((item) => (item as OutputItem).type).sort()).toEqual([
          'mcp_approval_request',
          'mcp_call',
          'mcp_list_tools',
          'mcp_list_tools',
          'message',
        ]);
        const request = { tools: [docs, careful], input: [...input, decide(id, true)] };
        const { sent } = await respond(wire, mode, request, { text: 'Done.' });
        expect(sent[0]).toContain('echo: free');
        expect(sent[0]).toContain('echo: paid');
        expect(server.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
      });

      it('tells the model that an approved call has not run, if its server is gone', async () => {
        const { id, input } = await ask(echo('careful'));
        for (const tools of [undefined, [docs]]) {
          const request = { ...(tools && { tools }), input: [...input, decide(id, true)] };
          const { served, sent } = await respond(wire, mode, request, { text: 'It is gone.' });
          expect(served.body).toMatchObject({ status: 'completed', error: null });
          expect(sent[0]).toContain('The user has approved this call, but it has not run');
          expect(sent[0]).not.toContain('rejected');
        }
        expect(server.methods()).not.toContain('tools/call');
      });

      it('rejects responses that belong to no request', async () => {
        const { input } = await ask(echo('careful'));
        const unknown = await respond(wire, mode, { tools: [careful], input: [...input, decide('mcpr_none', true)] });
        expect(unknown.served).toMatchObject({
          status: 400,
          body: {
            error: { message: expect.stringContaining('input[4].approval_request_id: `approval_request_id` names no') },
          },
        });
        expect(server.methods()).not.toContain('tools/call');
      });
    });

    it('shows a listing that failed, and goes on without the server', async () => {
      server.once('tools/list', ({ response }) => response.writeHead(503).end(secret));
      const { served, sent } = await respond(wire, mode, { tools: [docs] }, { text: 'No tools.' });
      expect(shownItems(served)).toMatchObject([
        {
          type: 'mcp_list_tools',
          server_label: 'docs',
          tools: [],
          error: 'The MCP server docs responded with status 503.',
        },
        { type: 'message' },
      ]);
      expect(sent[0]).not.toContain('docs__');
      if (mode === 'streamed') expect(typesOf(served)).toContain('response.mcp_list_tools.failed');
    });

    it.each<[string, Parameters<ScriptedMcpServer['once']>[1], object, string]>([
      [
        'a status',
        ({ response }) => response.writeHead(500).end(),
        { type: 'http_error', code: 500, message: 'The MCP server docs responded with status 500.' },
        'responded with status 500',
      ],
      [
        'an error of the protocol',
        ({ error }) => error(-32_602, 'No such book'),
        { type: 'mcp_protocol_error', code: -32_602, message: 'No such book' },
        'No such book',
      ],
      [
        'an error of the tool',
        ({ result }) => result({ ...mcpText('The shelf is empty.'), isError: true }),
        { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: 'The shelf is empty.' }] },
        'The shelf is empty.',
      ],
    ])('shows %s in the item, and to the model', async (_, handler, error, text) => {
      server.once('tools/call', handler);
      const { served, sent } = await respond(
        wire,
        mode,
        { tools: [docs] },
        { calls: [echo('docs')] },
        { text: 'Sorry.' },
      );
      expect(served.body.status).toBe('completed');
      expect(ofType(served, 'mcp_call')).toMatchObject([{ status: 'failed', output: null, error }]);
      expect(sent[1]).toContain(text);
      if (mode === 'streamed') expect(typesOf(served)).toContain('response.mcp_call.failed');
      if (mode === 'streamed') expect(typesOf(served)).not.toContain('response.mcp_call.completed');
    });

    it('replays calls of a conversation whose tools are gone', async () => {
      const input = [
        { type: 'message', role: 'user', content: 'Say hello.' },
        {
          type: 'mcp_call',
          id: 'mcp_1',
          server_label: 'docs',
          name: 'echo',
          arguments: '{"text":"x"}',
          output: 'echo: x',
        },
        { type: 'message', role: 'user', content: 'And now?' },
      ];
      const { served, sent } = await respond(wire, mode, { input }, { text: 'Bye.' });
      expect(served.body.status).toBe('completed');
      expect(sent[0]).toContain('docs__echo');
      expect(sent[0]).toContain('echo: x');
    });

    it('keeps the status of a failure of all providers after it has listed a server', async () => {
      const fail = { status: 400, text: '{"error":{"message":"no","type":"invalid_request_error"}}' };
      lab.upstreams[0].respond(fail as never);
      lab.upstreams[1].respond(fail as never);
      const served = await lab.respond(wire, mode, { tools: [docs] });
      expect(served.status).toBeGreaterThanOrEqual(400);
      expect(server.methods()).toContain('tools/list');
    });
  });
});

describe('a request with mcp', () => {
  const wire = 'openai-chat';
  const post = (request: object, ...turns: Turn[]) => respond(wire, 'buffered', request, ...turns);

  it('uses only allowed tools', async () => {
    const tool = { ...named(), allowed_tools: ['write'] };
    const { sent } = await post({ tools: [tool] }, { text: 'ok' });
    expect(sent[0]).toContain('mine__write');
    expect(sent[0]).not.toContain('mine__echo');
    const readOnly = await post({ tools: [{ ...named(), allowed_tools: { read_only: true } }] }, { text: 'ok' });
    expect(readOnly.sent[0]).toContain('mine__echo');
    expect(readOnly.sent[0]).not.toContain('mine__write');
  });

  it('uses only the tools that the operator allows, and shows the description of the server', async () => {
    const reading = { type: 'mcp', server_label: 'reading', allowed_tools: ['echo', 'write'] };
    const { sent } = await post({ tools: [reading] }, { text: 'ok' });
    expect(sent[0]).toContain('reading__echo');
    expect(sent[0]).toContain('About the server reading: Reads books.');
    expect(sent[0]).not.toContain('reading__write');
  });

  it('reports allowed tools that the server does not have', async () => {
    const stageOfNames = async (allowed: string[]) => {
      const { served } = await post({ tools: [{ ...named(), allowed_tools: allowed }] }, { text: 'ok' });
      const { pipeline = [] } = served.body.router_metadata ?? {};
      const [listing] = served.body.output;
      return { listing, data: pipeline.find(({ name }) => name === 'mcp')?.data };
    };
    const some = await stageOfNames(['echo', 'ecco']);
    expect(some.data).toEqual({ server_label: 'mine', unknown_tools: ['ecco'] });
    expect(some.listing).toMatchObject({ type: 'mcp_list_tools', tools: [{ name: 'echo' }] });
    expect(some.listing).not.toHaveProperty('error');
    const none = await stageOfNames(['ecco']);
    expect(none.data).toEqual({ server_label: 'mine', unknown_tools: ['ecco'] });
    expect(none.listing).toMatchObject({
      tools: [],
      error: expect.stringContaining('has no tool of allowed_tools (ecco). It has '),
    });
    expect((await stageOfNames(['echo'])).data).toBeUndefined();
  });

  it('asks for the approval of single tools', async () => {
    const tool = { ...named(), require_approval: { never: { tool_names: ['echo'] } } };
    const calls = [echo('mine'), call('mine__write', { text: 'x' })];
    const { served } = await post({ tools: [tool] }, { calls });
    expect(shownItems(served).map(({ type, name }) => [type, name])).toEqual([
      ['mcp_list_tools', undefined],
      ['mcp_call', 'echo'],
      ['mcp_approval_request', 'write'],
    ]);
  });

  it('lets `allowed_tools` of the choice name a server', async () => {
    const choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'mcp', server_label: 'docs' }] };
    const { served, sent } = await post(
      { tools: [docs, named()], tool_choice: choice },
      { calls: [echo('docs')] },
      { text: 'ok' },
    );
    expect(served.body.status).toBe('completed');
    expect(sent[0]).toContain('docs__echo');
    expect(sent[0]).not.toContain('mine__echo');
  });

  it('lets a choice force one tool of a server, in the first turn only', async () => {
    const choice = { type: 'mcp', server_label: 'docs', name: 'echo' };
    const turns = [{ calls: [echo('docs')] }, { text: 'ok' }];
    const { served, sent } = await post({ tools: [docs, named()], tool_choice: choice }, ...turns);
    const choices = sent.map((text) => (JSON.parse(text) as { tool_choice?: unknown }).tool_choice);
    expect(choices).toEqual([{ type: 'function', function: { name: 'docs__echo' } }, 'auto']);
    expect(served.body.tool_choice).toEqual(choice);
    for (const text of sent) expect(text).toContain('mine__echo');
  });

  it('lets a choice force any tool of a server', async () => {
    const turns = [{ calls: [echo('docs')] }, { text: 'ok' }];
    const { sent } = await post(
      { tools: [docs, named()], tool_choice: { type: 'mcp', server_label: 'docs' } },
      ...turns,
    );
    const [first, second] = sent.map((text) => JSON.parse(text) as { tools: object[]; tool_choice: unknown });
    expect([first!.tool_choice, JSON.stringify(first!.tools).includes('mine__echo')]).toEqual(['required', false]);
    expect([second!.tool_choice, JSON.stringify(second!.tools).includes('mine__echo')]).toEqual(['auto', true]);
  });

  it.each([
    [{ server_label: 'docs', name: 'ecco' }, 400, 'forces the tool "ecco" of the MCP server `docs`'],
    [{ server_label: 'mine' }, 422, 'names the MCP server "mine", which is not in `tools`'],
  ])('rejects the choice %j', async (choice, status, text) => {
    const { served } = await post({ tools: [docs], tool_choice: { type: 'mcp', ...choice } });
    expect([served.status, served.body.error?.message]).toEqual([status, expect.stringContaining(text)]);
  });

  it('gives a tool another name if a function of the caller has it', async () => {
    const own = { type: 'function', name: 'docs__echo', parameters: { type: 'object' } };
    const { sent } = await post({ tools: [docs, own] }, { text: 'ok' });
    expect(sent[0]).toMatch(/docs__echo_[0-9a-f]{8}/);
  });

  it('gives tools valid names of at most 64 characters', async () => {
    const odd = ['a.b/c', 'é', 'x'.repeat(100), `${'x'.repeat(99)}y`];
    server.once('tools/list', ({ result }) =>
      result({ tools: odd.map((name) => ({ name, inputSchema: { type: 'object' } })) }),
    );
    lab.script(wire, { text: 'ok' });
    await lab.respond(wire, 'buffered', { tools: [docs] });
    const { body } = lab.takeRequests()[0] as unknown as { body: { tools: { function: { name: string } }[] } };
    const names = body.tools.map(({ function: { name } }) => name);
    expect(names).toHaveLength(4);
    expect(new Set(names).size).toBe(4);
    for (const name of names) expect(name).toMatch(/^[\w-]{1,64}$/);
  });

  const deep = (levels: number): object =>
    levels === 0 ? {} : { type: 'object', properties: { x: deep(levels - 1) } };
  it.each([
    [
      'a deep schema',
      { name: 'deep', inputSchema: { type: 'object', properties: { x: deep(40) } } },
      'nested more than',
    ],
    [
      'a huge schema',
      { name: 'huge', inputSchema: { type: 'object', description: 'x'.repeat(600_000) } },
      'more than 524288 bytes',
    ],
  ])('rejects a listing with %s', async (_, tool, text) => {
    server.once('tools/list', ({ result }) => result({ tools: [tool] }));
    const { served } = await post({ tools: [docs] }, { text: 'ok' });
    expect(ofType(served, 'mcp_list_tools')).toMatchObject([{ error: expect.stringContaining(text) }]);
  });

  it('rejects a result that is too large', async () => {
    server.once('tools/call', ({ result }) => result(mcpText('x'.repeat(1_100_000))));
    const { served } = await post({ tools: [docs] }, { calls: [echo('docs')] }, { text: 'ok' });
    expect(ofType(served, 'mcp_call')).toMatchObject([
      {
        error: {
          type: 'mcp_tool_execution_error',
          content: [{ text: expect.stringContaining('The result is too large') }],
        },
      },
    ]);
  });

  it('opens a new session, once, with a server that reports the loss of the old one in a JSON-RPC error', async () => {
    server.once('tools/call', ({ error }) => error(-32_001, 'Session not found'));
    const { served } = await post({ tools: [docs] }, { calls: [echo('docs')] }, { text: 'ok' });
    expect(ofType(served, 'mcp_call')).toMatchObject([{ output: 'echo: hello', error: null }]);
    server.always('tools/call', ({ error }) => error(-32_001, 'Session not found'));
    const again = await post({ tools: [docs] }, { calls: [echo('docs')] }, { text: 'ok' });
    const error = { type: 'mcp_protocol_error', code: -32_001, message: 'Session not found' };
    expect(ofType(again.served, 'mcp_call')).toMatchObject([{ output: null, error }]);
    expect(server.methods().filter((method) => method === 'tools/call')).toHaveLength(4);
  });

  it('describes an image for the model', async () => {
    const content = [
      { type: 'image', data: 'A'.repeat(400), mimeType: 'image/png' },
      { type: 'text', text: 'A cat.' },
    ];
    server.once('tools/call', ({ result }) => result({ content }));
    const { served } = await post({ tools: [docs] }, { calls: [echo('docs')] }, { text: 'ok' });
    expect(ofType(served, 'mcp_call')[0]!['output']).toBe(
      '{"type":"image","data":"300 bytes, which the gateway does not pass on","mimeType":"image/png"}\nA cat.',
    );
  });

  it('ends at the call limit', async () => {
    const calls = [echo('docs'), echo('docs')];
    const { served } = await post({ tools: [docs], max_tool_calls: 1 }, { calls }, { text: 'ok' });
    expect(ofType(served, 'mcp_call')).toHaveLength(1);
    server.requests.length = 0;
    const off = await post({ tools: [docs], max_tool_calls: 0 }, { text: 'ok' });
    expect(off.served.body.status).toBe('completed');
    expect(server.requests).toEqual([]);
  });

  it('cancels the call at the server if the client disconnects', async () => {
    const begun = Promise.withResolvers<void>();
    server.once('tools/call', () => begun.resolve());
    lab.script(wire, { calls: [echo('docs')] });
    const controller = new AbortController();
    const served = lab.respond(wire, 'streamed', { tools: [docs] }, { signal: controller.signal } as never);
    await begun.promise;
    controller.abort();
    await served.catch(() => {});
    await expect.poll(() => server.methods()).toContain('notifications/cancelled');
  });

  it.each<[string, object | (() => object), string]>([
    [
      'a connector',
      { type: 'mcp', server_label: 'mail', connector_id: 'connector_gmail' },
      'tools[0].connector_id: `connector_id` names a connector',
    ],
    [
      'an unknown server',
      { type: 'mcp', server_label: 'none' },
      'tools[0].server_label: `server_label` names no MCP server',
    ],
    ['a server of another workspace', { type: 'mcp', server_label: 'other' }, 'it has `docs`, `careful`, `reading`'],
    [
      'headers for a server of the operator',
      { ...docs, headers: { a: 'b' } },
      'tools[0].headers: `headers` is set by the operator',
    ],
    ['a header of the protocol', () => ({ ...named(), headers: { 'Mcp-Session-Id': 'x' } }), 'is set by the gateway'],
    [
      'a header with a line break',
      () => ({ ...named(), headers: { 'x-a': 'b\r\nc: d' } }),
      'must have a value of ASCII',
    ],
    ['two authorizations', () => ({ ...named(), headers: { Authorization: 'x' } }), 'is given twice'],
    ['a label with spaces', () => ({ ...named(), server_label: 'my docs' }), 'must be 1 to 64 letters'],
    [
      'a loopback address',
      { type: 'mcp', server_label: 'x', server_url: 'http://127.0.0.1:9/mcp' },
      'tools[0].server_url: ',
    ],
    [
      'the metadata service',
      { type: 'mcp', server_label: 'x', server_url: 'http://169.254.169.254/latest' },
      'tools[0].server_url: ',
    ],
    ['a file', { type: 'mcp', server_label: 'x', server_url: 'file:///etc/passwd' }, 'tools[0].server_url: '],
    ['no URL', { type: 'mcp', server_label: 'x', server_url: '//example.com' }, '`server_url` is not a URL'],
    [
      'credentials in the URL',
      { type: 'mcp', server_label: 'x', server_url: 'http://a:b@example.com/' },
      'tools[0].server_url: ',
    ],
  ])('rejects %s', async (_, tool, text) => {
    const { served } = await post({ tools: [typeof tool === 'function' ? tool() : tool] });
    expect(served.status).toBe(400);
    expect(served.body.error!.message).toContain(text);
    expect(server.requests).toEqual([]);
  });

  it('rejects too many servers, and two with one label', async () => {
    const many = ['a', 'b', 'c', 'd'].map((label) => ({ ...named(), server_label: label }));
    expect((await post({ tools: many })).served.body.error!.message).toContain('has 4 MCP servers; at most 3');
    const twice = await post({ tools: [named(), named()] });
    expect(twice.served.body.error!.message).toContain('tools[1].server_label: `server_label` repeats');
  });

  it('does not follow a redirect to a private address', async () => {
    server.always('initialize', ({ response }) => response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end());
    const tool = { ...named(), headers: { 'x-once': 'redirect' } };
    const { served } = await post({ tools: [tool] }, { text: 'ok' });
    expect(ofType(served, 'mcp_list_tools')).toMatchObject([{ error: expect.stringContaining('status 307') }]);
  });

  it('asks nothing of a server if the request is rejected', async () => {
    const { served } = await post({ tools: [docs], model: 'acme/none' });
    expect(served.status).toBeGreaterThanOrEqual(400);
    expect(server.requests).toEqual([]);
  });
});
