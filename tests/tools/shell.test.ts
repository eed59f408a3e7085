import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { testKeys } from '../../src/testing/test-gateway.ts';
import { newSession } from '../api/ledger-rows.ts';
import { findCharges } from './find-charges.ts';
import { openStream } from '../api/open-stream.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { cite, createFakeContainers, otherPolicy, tooMany } from './fake-containers.ts';
import { call, modes, openToolLab, type Served, shownItems, type ToolLab, wireNames } from './lab.ts';
import { readSent } from './sent.ts';

/* `router:shell`, `shell` and `local_shell` on every wire, with containers in memory. */

const containers = createFakeContainers();
let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab({}, { 'openai-responses': { native_shell: false } }, { containers });
});
afterAll(() => lab.close());
beforeEach(() => {
  containers.reset();
  lab.takeRequests();
});

const tools = [{ type: 'router:shell' }];
const running = (...commands: string[]): Turn => ({ calls: [call('router_shell', { commands })] });
const answering: Turn = { text: 'Done.' };
const turnUsd = (defaultCounts.input + defaultCounts.output * 10) / 1e6;
const exit = (exit_code: number) => ({ type: 'exit', exit_code }) as const;
const printed = (text: string) => ({ stdout: `${text}\n`, stderr: '', outcome: exit(0) });
const eventsOf = ({ events }: Served) => events as unknown as Record<string, unknown>[];

describe.each(wireNames)('router:shell on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    const respond = (request: object, ...turns: Turn[]) => {
      lab.script(wire, ...turns);
      return lab.respond(wire, mode, { tools, ...request });
    };
    const listSent = () => lab.takeRequests().map((request) => readSent(wire, request));

    it('runs the commands in order and shows their outputs to the model and the client', async () => {
      const file = cite('sess_s1', 'out.txt');
      containers.run = async ({ command }) =>
        command === 'false'
          ? { stderr: 'no', outcome: exit(1) }
          : command === 'sleep'
            ? { outcome: { type: 'timeout' } }
            : { stdout: 'a', files: [file] };
      const served = await respond({ session_id: 's1' }, running('false', 'sleep', 'touch'), answering);

      const output = [
        { stdout: '', stderr: 'no', outcome: exit(1) },
        { stdout: '', stderr: '', outcome: { type: 'timeout' } },
        { stdout: 'a', stderr: '', outcome: exit(0) },
      ];
      expect(shownItems(served)).toMatchObject([
        {
          type: 'router:shell',
          status: 'completed',
          output,
          container_id: 'sess_s1',
          files: [file],
          id: expect.stringMatching(/^st_/),
          action: { commands: ['false', 'sleep', 'touch'] },
          call_id: expect.any(String),
          arguments: '{"commands":["false","sleep","touch"]}',
        },
        { type: 'message' },
      ]);
      expect(listSent()[1]!.results.map(({ value }) => value)).toEqual([{ output }]);
      expect(served.body.usage?.server_tool_use_details).toMatchObject({ tool_calls_executed: 1 });
      expect(served.body.usage).toMatchObject({ cost_details: { server_tool_cost: 0 } });
    });

    it('clamps the limits of a call, and has defaults', async () => {
      await respond({}, running('a'), answering);
      const input = { commands: ['b'], timeout_ms: 900_000, max_output_length: 1e9 };
      await respond({}, { calls: [call('router_shell', input)] }, answering);

      const none = { commands: ['c'], timeout_ms: 0, max_output_length: -1 };
      await respond({}, { calls: [call('router_shell', none)] }, answering);

      expect(containers.commands).toMatchObject([
        { timeoutMs: 120_000, maxOutputLength: 16_384 },
        { timeoutMs: 300_000, maxOutputLength: 65_536 },
        { timeoutMs: 120_000, maxOutputLength: 16_384 },
      ]);
    });

    it('rejects too many and too long commands, which the model reads', async () => {
      const many = Array.from({ length: 101 }, () => 'a');
      const served = await respond({}, running(...many), running('a'.repeat(16_385)), answering);

      expect(shownItems(served).map(({ type }) => type)).toEqual(['message']);
      const sent = listSent();
      expect(sent[1]!.results).toMatchObject([{ value: { error: expect.stringContaining('100') } }]);
      expect(sent[2]!.results[1]).toMatchObject({ value: { error: expect.stringContaining('16384') } });
      expect(containers.opened).toEqual([]);
    });

    it('replays the item as the call and its result', async () => {
      const first = await respond({}, running('pwd'), answering);
      lab.takeRequests();
      const input = [{ role: 'user', content: 'Run.' }, ...first.body.output, { role: 'user', content: 'Thanks.' }];
      await respond({ input }, answering);

      const [sent] = listSent();
      expect(sent).toMatchObject({
        calls: [{ name: 'router_shell', value: { commands: ['pwd'] } }],
        results: [{ value: { output: [printed('pwd')] } }],
      });
    });

    it.each(['shell', 'local_shell'])('runs %s with items for the call and its output', async (type) => {
      const file = cite('c', 'a');
      containers.run = async () => ({ stdout: 'x', files: [file] });
      const served = await respond(
        { tools: [{ type }], tool_choice: { type: 'shell' } },
        { calls: [call('router_shell', { commands: ['one'] }), call('router_shell', { commands: ['two'] })] },
        answering,
      );

      const id = expect.stringMatching(/^shc_/);
      const action = { commands: ['one'], timeout_ms: null, max_output_length: null };
      const [first, output, , second] = shownItems(served);
      expect(first).toMatchObject({ type: 'shell_call', id, status: 'completed', action, environment: null });
      expect(output).toEqual({
        type: 'shell_call_output',
        id: expect.stringMatching(/^sho_/),
        status: 'completed',
        files: [file],
        call_id: first!['call_id'],
        output: [{ stdout: 'x', stderr: '', outcome: exit(0) }],
        container_id: expect.stringMatching(/^gen_[0-9a-f]{16}$/),
        max_output_length: null,
      });
      expect(second).toMatchObject({ type: 'shell_call_output' });
      expect(listSent()[1]!.results).toHaveLength(2);
      if (mode === 'buffered') return;
      const own = eventsOf(served).filter(
        ({ item, type: kind }) =>
          String(kind).startsWith('response.output_item') &&
          String((item as { type: string }).type).startsWith('shell'),
      );
      expect(
        own.map(({ type: kind, output_index: index }) => `${String(kind).slice(21)} ${index}`).slice(0, 3),
      ).toEqual(['added 0', 'done 0', 'added 1']);
      expect(own[2]!['item']).toMatchObject({ type: 'shell_call_output', status: 'in_progress', output: [] });
    });

    it.each(['shell', 'local_shell'])('replays the items of %s, of the gateway and of clients', async (type) => {
      const first = await respond({ tools: [{ type }] }, running('pwd'), answering);
      lab.takeRequests();
      const result = { stdout: 'b', stderr: '', outcome: exit(0) };
      const input = [
        { role: 'user', content: 'Run.' },
        ...first.body.output,
        { role: 'user', content: 'And at mine?' },
        { type: 'shell_call', call_id: 'mine', action: { commands: ['ls'], timeout_ms: 5 } },
        { type: 'shell_call_output', call_id: 'mine', output: [result] },
        {
          type: 'local_shell_call',
          id: 'l',
          call_id: 'local',
          status: 'completed',
          action: { type: 'exec', command: ['bash', '-lc', 'ls -a'], env: {} },
        },
        { type: 'local_shell_call_output', id: 'local', output: 'c' },
        { type: 'shell_call', call_id: 'cut', action: { commands: ['ls'] }, environment: { type: 'local' } },
        { type: 'shell_call_output', call_id: 'cut', output: [result], error: 'Out of time.' },
      ];
      const { status, body } = await respond({ input, tools: [{ type }] }, answering);

      expect(status).toBe(200);
      expect(body.router_metadata?.params?.['dropped_fields']).toEqual([
        expect.stringMatching(/^input\[\d+\]\.environment$/),
      ]);
      const [sent] = listSent();
      expect(sent!.calls).toMatchObject([
        { name: 'router_shell', value: { commands: ['pwd'] } },
        { name: 'router_shell', value: { commands: ['ls'], timeout_ms: 5 } },
        { name: 'router_shell', value: { commands: ['ls -a'] } },
        { name: 'router_shell', value: { commands: ['ls'] } },
      ]);
      expect(sent!.results.map(({ value }) => value)).toEqual([
        { output: [printed('pwd')] },
        { output: [result] },
        { output: 'c' },
        { error: 'Out of time.', output: [result] },
      ]);
    });

    it('returns the output of commands whose changes are not saved, with a note', async () => {
      containers.run = async ({ command }) => ({
        stdout: `${command}\n`,
        notes: ['The path "deep/…" is not saved.', ...(command === 'b' ? ['The disk is full.'] : [])],
      });
      const served = await respond({}, running('a', 'b'), answering);
      const output = [
        { stdout: 'a\n', stderr: '[The path "deep/…" is not saved.]\n' },
        { stdout: 'b\n', stderr: '[The disk is full.]\n' },
      ];
      expect(shownItems(served)[0]).toMatchObject({ status: 'completed', output });
      expect(shownItems(served)[0]).not.toHaveProperty('error');
      expect(listSent().at(-1)!.results).toMatchObject([{ value: { output } }]);
    });

    it('fails the item if the container cannot be used, and the response goes on', async () => {
      containers.failure = tooMany;
      const served = await respond({ session_id: 's1' }, running('a'), answering);
      const native = await respond({ tools: [{ type: 'shell' }] }, running('a'), answering);
      containers.problem = 'Install bubblewrap.';
      const off = await respond({}, running('a'), answering);

      expect(shownItems(served)).toMatchObject([
        { type: 'router:shell', status: 'failed', error: tooMany.message, container_id: 'sess_s1' },
        { type: 'message' },
      ]);
      expect(shownItems(served)[0]).not.toHaveProperty('output');
      expect(shownItems(native).slice(0, 2)).toMatchObject([
        { type: 'shell_call', status: 'completed' },
        { type: 'shell_call_output', status: 'incomplete', error: tooMany.message, output: [] },
      ]);
      expect(shownItems(off)).toMatchObject([{ status: 'failed', error: 'Install bubblewrap.' }, {}]);
      const sent = listSent();
      expect(sent[1]!.results).toMatchObject([{ value: { error: tooMany.message } }]);
      expect(sent[5]!.results).toMatchObject([{ value: { error: 'Install bubblewrap.' } }]);
    });
  });
});

describe('router:shell', () => {
  const respond = (request: object, ...turns: Turn[]) => {
    lab.script('openai-chat', ...turns);
    return lab.respond('openai-chat', 'buffered', { tools, ...request });
  };
  const withEnvironment = (environment: object) => [{ type: 'router:shell', parameters: { environment } }];
  const idOf = async (request: object, headers: Record<string, string> = {}) => {
    lab.script('openai-chat', running('a'), answering);
    await lab.respond('openai-chat', 'buffered', { tools, ...request }, { headers });
    return containers.opened.at(-1)!.id;
  };

  it('uses the container of the reference, of the session, of the conversation, or a new one', async () => {
    const reference = withEnvironment({ type: 'container_reference', container_id: 'mine' });
    expect(await idOf({ tools: reference, session_id: 's1' })).toBe('mine');
    expect(await idOf({ session_id: 's1', prompt_cache_key: 'p' })).toBe('sess_s1');
    expect(await idOf({ prompt_cache_key: 'p' }, { 'x-session-id': 'h' })).toBe('sess_h');
    expect(await idOf({ session_id: 'user:42' })).toMatch(/^sess_user-42-[0-9a-f]{40}$/);
    expect(await idOf({ prompt_cache_key: 'p' })).toMatch(/^gen_/);
    const item = { type: 'router:shell', status: 'completed', action: { commands: ['a'] }, output: [] };
    const input = ['old', 'new'].flatMap((container_id) => [
      { role: 'user', content: 'x' },
      { ...item, container_id },
    ]);
    expect(await idOf({ input: [...input, { role: 'user', content: 'x' }] })).toBe('new');
    const first = await idOf({});
    expect(first).toMatch(/^gen_[0-9a-f]{16}$/);
    expect(await idOf({})).not.toBe(first);
  });

  it('uses one container for all calls of a request', async () => {
    await respond({}, running('a'), running('b'), answering);
    expect(new Set(containers.opened.map(({ id }) => id)).size).toBe(1);
  });

  it('runs the calls of one turn one after another', async () => {
    const log: string[] = [];
    containers.run = async ({ command }) => {
      log.push(`begin ${command}`);
      await new Promise((resolve) => setImmediate(resolve));
      log.push(`end ${command}`);
      return {};
    };
    await respond({}, { calls: ['a', 'b'].map((each) => call('router_shell', { commands: [each] })) }, answering);
    expect(log).toEqual(['begin a', 'end a', 'begin b', 'end b']);
  });

  it('passes files and the network policy on', async () => {
    containers.storedFiles.add('file_w1');
    const policy = { type: 'allowlist', allowed_domains: ['pypi.org', '*.pythonhosted.org'] };
    await respond(
      { tools: withEnvironment({ type: 'container_auto', file_ids: ['file_w1'], network_policy: policy }) },
      running('a'),
      answering,
    );
    expect(containers.opened).toMatchObject([
      { compute: 'shell', fileIds: ['file_w1'], network: { allowedDomains: policy.allowed_domains } },
    ]);
    expect(lab.takeRequests()[0]!.text).toContain('pypi.org');
    await respond({ tools: withEnvironment({ type: 'container_auto' }) }, running('a'), answering);
    expect(containers.opened[1]).not.toHaveProperty('network');
    expect(lab.takeRequests()[0]!.text).toContain('without network');
  });

  it.each<[string, object, string]>([
    ['a local environment', { type: 'local' }, 'tools[0].parameters.environment.type'],
    ['a field of others', { type: 'container_auto', skills: [] }, 'tools[0].parameters.environment.skills'],
    [
      'secrets of domains',
      {
        type: 'container_auto',
        network_policy: { type: 'allowlist', allowed_domains: ['a.com'], domain_secrets: [{ domain: 'a.com' }] },
      },
      'tools[0].parameters.environment.network_policy.domain_secrets',
    ],
    ['a malformed file id', { type: 'container_auto', file_ids: ['x'] }, 'tools[0].parameters.environment.file_ids[0]'],
    [
      'an unknown file id',
      { type: 'container_auto', file_ids: ['file_w1'] },
      'tools[0].parameters.environment.file_ids[0]',
    ],
    [
      'a malformed id',
      { type: 'container_reference', container_id: 'a b' },
      'tools[0].parameters.environment.container_id',
    ],
    ...['Example.com', 'example.com:80', 'https://example.com', '', 'a..b', '-a.com', 'a'.repeat(64)].map(
      (domain): [string, object, string] => [
        `the domain "${domain}"`,
        { type: 'container_auto', network_policy: { type: 'allowlist', allowed_domains: ['a.com', domain] } },
        'tools[0].parameters.environment.network_policy.allowed_domains[1]',
      ],
    ),
  ])('rejects %s before anything is sent', async (_, environment, path) => {
    const { status, body } = await respond({ tools: withEnvironment(environment) });
    expect(status).toBe(400);
    expect(body.error?.metadata?.['issues']).toMatchObject([{ path }]);
    expect(lab.takeRequests()).toEqual([]);
    expect(containers.opened).toEqual([]);
  });

  it('is a 400 if the running container has another network policy, and a failed item if it starts meanwhile', async () => {
    containers.conflict = otherPolicy.message;
    const { status, body } = await respond({ session_id: 's1' });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({
      message: expect.stringContaining(otherPolicy.message),
      metadata: { issues: [{ path: 'tools[0].parameters.environment.network_policy' }] },
    });
    expect(lab.takeRequests()).toEqual([]);
    containers.conflict = undefined;
    containers.failure = otherPolicy;
    const served = await respond({ session_id: 's1' }, running('a'), answering);
    expect(shownItems(served)[0]).toMatchObject({ status: 'failed', error: otherPolicy.message });
  });

  it('charges the seconds, at least the minimum, with a line of the ledger', async () => {
    containers.price = { perSecondNanoUsd: 100_000n, minSeconds: 30 };
    const session = newSession();
    const { body } = await respond({ session_id: session }, running('a'), answering);

    expect(body.usage!.cost).toBeCloseTo(2 * turnUsd + 0.003, 9);
    expect(body.usage).toMatchObject({ cost_details: { server_tool_cost: 0.003 } });
    expect(await findCharges(lab.gateway.dataDir, session)).toMatchObject([
      { model: 'shell', provider: 'sandbox', cost_nano_usd: 3_000_000 },
    ]);
  });

  it('charges nothing if the container does not start', async () => {
    containers.price = { perSecondNanoUsd: 100_000n, minSeconds: 30 };
    containers.failure = tooMany;
    const { body } = await respond({}, running('a'), answering);
    expect(body.usage!.cost).toBeCloseTo(2 * turnUsd, 9);
  });

  it('does not run if the price exceeds a budget, which the model reads', async () => {
    containers.price = { perSecondNanoUsd: 1_000_000_000n, minSeconds: 30 };
    const limited = { name: 'limited', limit: 0.5, workspace_id: '00000000-0000-4000-8000-0000000000a1' };
    const made = await lab.gateway.post('/keys', limited, { key: testKeys.managementKey });
    const { key } = (await made.json()) as { key: string };
    lab.script('openai-chat', running('a'), answering);
    const served = await lab.respond('openai-chat', 'buffered', { tools }, { key });
    expect(shownItems(served)[0]).toMatchObject({ status: 'failed', error: expect.stringMatching(/limit|budget/i) });
    expect(containers.opened).toEqual([]);
  });

  it('sends the output while a command runs, if a header wants it', async () => {
    containers.run = async ({ onOutput }) => {
      onOutput?.('stdout', 'one ');
      await new Promise((resolve) => setImmediate(resolve));
      onOutput?.('stderr', 'two');
      onOutput?.('stdout', 'three');
      return { stdout: 'one three', stderr: 'two' };
    };
    const headers = { 'x-router-tool-output': 'enabled' };
    const serve = async (mode: 'buffered' | 'streamed', how: object, request: object = {}) => {
      lab.script('openai-chat', running('a'), answering);
      return lab.respond('openai-chat', mode, { tools, ...request }, how);
    };
    const served = await serve('streamed', { headers });
    const [item] = shownItems(served);
    const type = 'response.tool_output.delta';
    const own = { type, item_id: item!.id, output_index: 0, command_index: 0 };
    const deltas = eventsOf(served).filter((event) => event['type'] === type);
    expect(deltas).toMatchObject([
      { ...own, stream: 'stdout', delta: 'one ' },
      { ...own, stream: 'stderr', delta: 'two' },
      { ...own, stream: 'stdout', delta: 'three' },
    ]);
    const native = await serve('streamed', { headers }, { tools: [{ type: 'shell' }] });
    expect(eventsOf(native).filter((event) => event['type'] === type)).toMatchObject([
      { item_id: shownItems(native)[1]!.id, output_index: 1 },
      {},
      {},
    ]);
    for (const other of [await serve('streamed', {}), await serve('buffered', { headers })]) {
      expect(JSON.stringify(other.events)).not.toContain('tool_output');
      expect(shownItems(other)[0]).toMatchObject({ output: [{ stdout: 'one three', stderr: 'two' }] });
    }
  });

  it('ends a command with the client, and charges the seconds until then', async () => {
    containers.price = { perSecondNanoUsd: 100_000n, minSeconds: 30 };
    const ended = Promise.withResolvers<void>();
    containers.run = ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          ended.resolve();
          reject(signal.reason);
        });
      });
    lab.script('openai-chat', running('a'));
    const session = newSession();
    const stream = await openStream(lab.gateway, {
      model: 'acme/openai-chat',
      input: 'Run.',
      tools,
      session_id: session,
    });
    await expect.poll(() => containers.commands.length).toBe(1);
    stream.leave();
    await ended.promise;
    expect(await findCharges(lab.gateway.dataDir, session)).toMatchObject([{ cost_nano_usd: 3_000_000 }]);
  });

  it('bounds the outputs of a call together', async () => {
    containers.run = async () => ({ stdout: '\u0000'.repeat(65_536), stderr: 'é'.repeat(65_536) });
    const served = await respond({}, running('a', 'b', 'c', 'd'), answering);
    const { output } = shownItems(served)[0] as unknown as { output: { stdout: string; stderr: string }[] };
    expect(output.map(({ stdout }) => stdout.length > 60_000)).toEqual([true, true, false, false]);
    expect(output[3]!.stdout).toContain('65536 characters were dropped');
    expect(lab.takeRequests()[1]!.text).toContain('characters were dropped');
  });

  it('uses the shell of the provider where there is one', async () => {
    const dialects = { 'openai-responses': { hosted_shell: true } };
    const native = await openToolLab({}, dialects, { containers });
    const toolsSent = async (sent: object) => {
      native.script('openai-responses', answering);
      await native.respond('openai-responses', 'buffered', { tools: [sent] });
      return native.takeRequests().map(({ body }) => (body as { tools: object[] }).tools)[0];
    };
    const environment = { type: 'container_auto' };
    expect(await toolsSent({ type: 'router:shell' })).toEqual([{ type: 'shell', environment }]);
    expect(await toolsSent({ type: 'shell' })).toEqual([{ type: 'shell' }]);
    expect(await toolsSent({ type: 'local_shell' })).toEqual([{ type: 'local_shell' }]);
    const ours = { environment: { type: 'container_reference', container_id: 'mine' } };
    for (const parameters of [{ engine: 'router' }, ours]) {
      expect(await toolsSent({ type: 'router:shell', parameters })).toMatchObject([{ name: 'router_shell' }]);
    }
    await native.close();
  });

  it('ignores the memory limit of a hosted tool, and rejects environments that only providers have', async () => {
    const tool = (environment: object) => [{ type: 'shell', environment: { type: 'container_auto', ...environment } }];
    const served = await respond({ tools: tool({ memory_limit: '4g' }) }, running('a'), answering);
    expect(shownItems(served)[1]).toMatchObject({ type: 'shell_call_output', status: 'completed' });
    lab.takeRequests();
    const skills = [{ type: 'skill_reference', skill_id: 's' }];
    for (const environment of [{ skills }, { type: 'local' }]) {
      const { status, body } = await respond({ tools: tool(environment) });
      expect(status).toBe(400);
      expect(body.error?.message).toContain('tools[0]');
    }
    expect(lab.takeRequests()).toEqual([]);
  });

  it('is forced by the short choice, too', async () => {
    const { status } = await respond({ tool_choice: { type: 'shell' } }, answering);
    expect(status).toBe(200);
    expect(readSent('openai-chat', lab.takeRequests()[0]!).choice).toBe('router_shell');
  });

  it('sends items of the gateway as calls of functions, and others unchanged, where the provider has the tool', async () => {
    lab.script('openai-chat', running('pwd'), answering);
    const { body } = await lab.respond('openai-chat', 'buffered', { tools: [{ type: 'shell' }] });
    const native = await openToolLab({}, {}, { containers });
    const foreign = [
      { type: 'shell_call', id: 'sh_1', call_id: 'theirs', status: 'completed', action: { commands: ['ls'] } },
      { type: 'shell_call_output', call_id: 'theirs', output: [{ stdout: 'a', stderr: '', outcome: exit(0) }] },
    ];
    const input = [{ role: 'user', content: 'Run.' }, ...body.output, { role: 'user', content: 'x' }, ...foreign];
    native.script('openai-responses', answering);
    await native.respond('openai-responses', 'buffered', { tools: [{ type: 'shell' }], input });
    const [sent] = native.takeRequests();
    const items = (sent!.body as { input: { type: string }[] }).input;
    expect(items.filter(({ type }) => type.startsWith('function'))).toMatchObject([
      { type: 'function_call', name: 'router_shell' },
      { type: 'function_call_output', output: JSON.stringify({ output: [printed('pwd')] }) },
    ]);
    expect(items.filter(({ type }) => type.startsWith('shell'))).toEqual(foreign);
    await native.close();
  });

  it('goes on if the provider has run a shell of its own in the same turn', async () => {
    const dialects = { 'openai-responses': { hosted_shell: true } };
    const native = await openToolLab({}, dialects, { containers });
    const own = [
      {
        type: 'shell_call',
        id: 'sh_1',
        call_id: 'theirs',
        status: 'completed',
        action: { commands: ['ls'], timeout_ms: null, max_output_length: null },
      },
      {
        type: 'shell_call_output',
        id: 'sho_1',
        call_id: 'theirs',
        status: 'completed',
        output: [{ stdout: 'a', stderr: '', outcome: exit(0) }],
        max_output_length: null,
      },
    ];
    const clock = { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'router_datetime', arguments: '{}' };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    native.upstreams[0].respond(() =>
      json({
        id: 'r',
        object: 'response',
        status: 'completed',
        output: [...own, { ...clock, status: 'completed' }],
        usage,
      }),
    );
    native.script('openai-responses', answering);
    const request = { tools: [...tools, { type: 'router:datetime' }] };
    const served = await native.respond('openai-responses', 'buffered', request);
    expect(shownItems(served).map(({ type }) => type)).toEqual([
      'shell_call',
      'shell_call_output',
      'router:datetime',
      'message',
    ]);
    expect(native.takeRequests()).toHaveLength(2);
    await native.close();
  });

  it('is not the shell of the client without a sandbox', async () => {
    containers.problem = 'Install bubblewrap.';
    const { status, body } = await respond({ tools: [{ type: 'shell' }] });
    expect([status, body.error?.message]).toEqual([
      400,
      expect.stringMatching(/tools\[0\].* No sandbox of the gateway/),
    ]);
  });
});
