import OpenAI from 'openai';
import type {
  Response as OpenAiResponse,
  ResponseCreateParamsNonStreaming,
} from 'openai/resources/responses/responses';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { openStream } from '../api/open-stream.ts';

/*
 * Commands of a model in real sandboxes, from the request to the download of their files, with the simulator and the
 * official client.
 */

const drivers = ['bubblewrap', 'simulation'] as const;
const modes = ['buffered', 'streamed'] as const;

interface Item {
  type: string;
  status: string;
  container_id?: string;
  output?: { stdout: string; stderr: string; outcome: object }[];
  [field: string]: unknown;
}

/** The simulation shows output only at the end of a command. */
const endless = ['echo half > half.txt; echo begun', 'sleep 120; echo whole > whole.txt'];

const script = (...calls: string[]) =>
  `${calls.map((call) => `[[call ${call}]]`).join(' [[then]] ')} [[then]] [[say Done.]]`;
const shell = (...commands: string[]) => `router:shell ${JSON.stringify({ commands })}`;
const probe = await testGateway({ tools: { sandbox: { driver: 'bubblewrap' } } });
const missing = await problemOf(probe);
await probe.close();

async function problemOf(gateway: TestGateway): Promise<string | undefined> {
  const response = await gateway.post('/responses', {
    model: 'simulator/echo',
    input: script(shell('true')),
    tools: [{ type: 'router:shell' }],
  });
  const [item] = ((await response.json()) as { output: Item[] }).output;
  return item!['error'] as string | undefined;
}

if (missing !== undefined) it.skip(`bubblewrap cannot run here: ${missing}`, () => {});

describe.each(drivers)('commands in containers of %s', (driver) => {
  const isSkipped = driver === 'bubblewrap' && missing !== undefined;
  let gateway: TestGateway;
  let client: OpenAI;
  beforeAll(async () => {
    gateway = await testGateway({ tools: { sandbox: { driver, max_running: 50 } } });
    client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0 });
  });
  afterAll(() => gateway.close());

  const tools = ['shell', 'text_editor'].map((name) => ({ type: `router:${name}` }));
  async function respond(mode: (typeof modes)[number], request: object): Promise<Item[]> {
    // The client does not know the tools and items of the gateway.
    const body = { model: 'simulator/echo', tools, ...request } as unknown as ResponseCreateParamsNonStreaming;
    if (mode === 'buffered') return (await client.responses.create(body)).output as unknown as Item[];
    let last: OpenAiResponse | undefined;
    for await (const event of await client.responses.create({ ...body, stream: true })) {
      if (event.type === 'response.completed') last = event.response;
    }
    return last!.output as unknown as Item[];
  }
  const listFiles = async (id: string) => {
    const response = await gateway.get(`/containers/${id}/files`);
    return ((await response.json()) as { data: { id: string; path: string; bytes: number }[] }).data;
  };
  const readFile = async (container: string, path: string) => {
    const file = (await listFiles(container)).find((each) => each.path === path);
    return (await gateway.get(`/containers/${container}/files/${file!.id}/content`)).text();
  };

  it.skipIf(isSkipped).each(modes)(
    'stay for the next request, and the client lists and downloads them: %s',
    async (mode) => {
      const session = `flow-${driver.slice(0, 4)}-${mode.slice(0, 4)}`;
      const id = `sess_${session}`;
      const first = await respond(mode, {
        session_id: session,
        input: script(shell('printf 6,7 > n.csv', 'mkdir -p out && cp n.csv out/ && echo made', 'cat missing')),
      });
      expect(first[0]).toMatchObject({
        type: 'router:shell',
        status: 'completed',
        container_id: id,
        output: [
          { stdout: '', outcome: { type: 'exit', exit_code: 0 } },
          { stdout: 'made\n', stderr: '' },
          { stderr: expect.stringContaining('missing'), outcome: { type: 'exit', exit_code: 1 } },
        ],
      });
      const cited = (first[0]!['files'] as { filename: string }[]).map(({ filename }) => filename);
      expect(cited.sort()).toEqual(['n.csv', 'out/n.csv']);
      expect((await listFiles(id)).map(({ path, bytes }) => [path, bytes])).toEqual([
        ['n.csv', 3],
        ['out/n.csv', 3],
      ]);
      expect(await readFile(id, 'out/n.csv')).toBe('6,7');

      const edit = { command: 'str_replace', path: 'n.csv', old_str: '7', new_str: '8' };
      const second = await respond(mode, {
        session_id: session,
        input: script(`router:text_editor ${JSON.stringify(edit)}`, shell('cat n.csv')),
      });
      expect(second).toMatchObject([
        { type: 'router:text_editor', status: 'completed', container_id: id, files: [{ filename: 'n.csv' }] },
        { type: 'router:shell', output: [{ stdout: '6,8' }] },
        { type: 'message' },
      ]);
      const third = await respond(mode, {
        input: [{ role: 'user', content: 'x' }, ...second, { role: 'user', content: script(shell('ls')) }],
      });
      expect(third[0]).toMatchObject({ container_id: id, output: [{ stdout: 'n.csv\nout\n' }] });
    },
  );

  it.skipIf(isSkipped)('belong to their member, and to no other workspace', async () => {
    await respond('buffered', { session_id: 'own', input: script(shell('echo secret > s.txt')) });
    expect(await listFiles('sess_own')).toHaveLength(1);
    const body = { name: 'other', workspace_id: '00000000-0000-4000-8000-0000000000a2' };
    const made = await gateway.post('/keys', body, { key: gateway.managementKey });
    const { key } = (await made.json()) as { key: string };
    const listed = await gateway.get('/containers/sess_own/files', { key });
    expect(await listed.json()).toMatchObject({ data: [] });
    const input = script(shell('ls -A'));
    const response = await gateway.post(
      '/responses',
      { model: 'simulator/echo', session_id: 'own', tools, input },
      { key },
    );
    expect(((await response.json()) as { output: Item[] }).output[0]).toMatchObject({ output: [{ stdout: '' }] });
  });

  it.skipIf(isSkipped || driver === 'simulation')(
    'run commands after a fork bomb whose own command has ended',
    async () => {
      const bomb = 'bomb() { bomb | bomb & }; bomb; exit 0';
      const ran = async (command: string) => {
        const [item] = await respond('buffered', { session_id: 'bomb', input: script(shell(command)) });
        return item!.output?.[0];
      };
      const note = '[The processes that earlier commands had left were killed';
      for (let output = await ran(`echo kept > kept; ${bomb}`); !output?.stderr.includes(note); ) {
        output = await ran('cat kept | cat');
        expect(output).toMatchObject({ stdout: 'kept\n', outcome: { type: 'exit', exit_code: 0 } });
      }
      expect(await ran('cat kept | cat')).toMatchObject({ stdout: 'kept\n' });
    },
  );

  it.skipIf(isSkipped)('run with the arguments that the simulator chooses', async () => {
    const bash = { type: 'router:bash', parameters: { engine: 'router' } };
    for (const [tool, fields] of [
      [tools[0]!, { output: [{ stdout: expect.any(String), outcome: { type: 'exit', exit_code: 0 } }] }],
      [bash, { exitCode: 0 }],
    ] as const) {
      const output = await respond('buffered', { tools: [tool], input: 'Look.', tool_choice: { type: tool.type } });
      expect(output).toMatchObject([{ type: tool.type, status: 'completed', ...fields }, { type: 'message' }]);
    }
  });

  it.skipIf(isSkipped)('have copies of stored files', async () => {
    const form = new FormData();
    form.append('file', new File(['a,b\n'], 'data/in.csv'));
    const headers = { authorization: `Bearer ${gateway.key}` };
    const sent = await fetch(`${gateway.baseUrl}/files`, { method: 'POST', headers, body: form });
    const { id } = (await sent.json()) as { id: string };
    const attach = (...ids: string[]) => ({ environment: { type: 'container_auto', file_ids: ids } });
    const output = await respond('buffered', {
      tools: [{ type: 'router:shell', parameters: attach(id) }],
      input: script(shell('ls', 'cat *.csv', 'echo c >> *.csv')),
    });
    const name = `${id.slice(-8)}-in.csv`;
    expect(output[0]).toMatchObject({ output: [{ stdout: `${name}\n` }, { stdout: 'a,b\n' }, {}] });
    expect(await readFile(output[0]!.container_id!, name)).toBe('a,b\nc\n');

    const other = 'file_w000000000000000000000000';
    const body = {
      model: 'simulator/echo',
      input: 'x',
      tools: [{ type: 'router:shell', parameters: attach(id, other) }],
    };
    const refused = await gateway.post('/responses', body);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: { metadata: { issues: [{ path: 'tools[0].parameters.environment.file_ids[1]' }] } },
    });
  });

  it.skipIf(isSkipped || driver === 'simulation')('keep their network policy while they run', async () => {
    const policy = (...allowed_domains: string[]) => [
      {
        type: 'router:shell',
        parameters: {
          environment: { type: 'container_auto', network_policy: { type: 'allowlist', allowed_domains } },
        },
      },
    ];
    const send = (given: object[]) =>
      gateway.post('/responses', {
        model: 'simulator/echo',
        session_id: 'policy',
        tools: given,
        input: script(shell('true')),
      });
    for (let count = 0; count < 2; count++) {
      const { output } = (await (await send(policy('a.example'))).json()) as { output: Item[] };
      expect(output[0]).toMatchObject({ status: 'completed' });
    }
    for (const other of [policy('b.example'), tools]) {
      const response = await send(other);
      expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('network_policy')]);
    }
  });

  it.skipIf(isSkipped)('of the hosted tool have two items, and show their output while they run', async () => {
    const body = {
      model: 'simulator/echo',
      input: script('shell {"commands": ["echo one; sleep 0.1; echo two >&2"]}'),
      tools: [{ type: 'shell' }],
    };
    const { events } = await gateway.stream(body, { headers: { 'x-router-tool-output': 'enabled' } });
    const deltas = events.filter(({ type }) => type === 'response.tool_output.delta') as unknown as Record<
      string,
      unknown
    >[];
    const joined = (stream: string) =>
      deltas.flatMap((each) => (each['stream'] === stream ? [each['delta']] : [])).join('');
    expect([joined('stdout'), joined('stderr')]).toEqual(['one\n', 'two\n']);
    const { response } = events.at(-1) as unknown as { response: { output: Item[] } };
    expect(response.output).toMatchObject([
      { type: 'shell_call', status: 'completed' },
      { type: 'shell_call_output', status: 'completed', output: [{ stdout: 'one\n', stderr: 'two\n' }] },
      { type: 'message' },
    ]);
  });

  it.skipIf(isSkipped)('end with the client, and the files so far are saved', async () => {
    const stream = await openStream(
      gateway,
      {
        model: 'simulator/echo',
        session_id: 'left',
        tools,
        input: script(shell(...(driver === 'simulation' ? endless : [endless.join('; ')]))),
      },
      { headers: { 'x-router-tool-output': 'enabled' } },
    );
    await stream.readUntil('"delta":"begun');
    stream.leave();
    await expect.poll(async () => (await listFiles('sess_left')).map(({ path }) => path)).toEqual(['half.txt']);
    const after = await respond('buffered', { session_id: 'left', input: script(shell('cat half.txt; ls')) });
    expect(after[0]).toMatchObject({ output: [{ stdout: 'half\nhalf.txt\n' }] });
  });
});

describe.skipIf(missing !== undefined)('programs in containers of bubblewrap', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await testGateway({ tools: { sandbox: { driver: 'bubblewrap' } } });
  });
  afterAll(() => gateway.close());
  const respond = async (request: object) => {
    const response = await gateway.post('/responses', { model: 'simulator/echo', ...request });
    return ((await response.json()) as { output: Item[] }).output;
  };

  it('compute and write files, which the bash of a later call reads', async () => {
    const code = 'open("n.txt", "w").write("42")\n6 * 7';
    const output = await respond({
      session_id: 'code',
      include: ['code_interpreter_call.outputs'],
      input: script(
        `router:code_interpreter ${JSON.stringify({ code })}`,
        'router:bash {"command": "cat n.txt; exit 3"}',
      ),
      tools: [
        { type: 'code_interpreter', container: { type: 'auto' } },
        { type: 'router:bash', parameters: { engine: 'router' } },
      ],
    });
    expect(output).toMatchObject([
      {
        type: 'code_interpreter_call',
        status: 'completed',
        container_id: 'sess_code',
        code,
        outputs: [
          { type: 'logs', logs: '42\n' },
          { type: 'file', filename: 'n.txt' },
        ],
      },
      { type: 'router:bash', stdout: '42', exitCode: 3, container_id: 'sess_code' },
      { type: 'message' },
    ]);
  });

  it('start over with an empty container after a restart', async () => {
    const call = (input: object) => `router:bash ${JSON.stringify(input)}`;
    const output = await respond({
      session_id: 'again',
      input: script(
        call({ command: 'touch a' }),
        call({ restart: true, command: 'touch b; ls' }),
        call({ command: 'ls' }),
      ),
      tools: [{ type: 'router:bash', parameters: { engine: 'router' } }],
    });
    const ids = output.map(({ container_id: id }) => id);
    expect(ids[0]).toBe('sess_again');
    expect(ids[1]).toMatch(/^sess_again-r[a-z0-9]{12}$/);
    expect(ids[2]).toBe(ids[1]);
    expect(output.map(({ stdout }) => stdout)).toEqual(['', 'b\n', 'b\n', undefined]);
    const [old, fresh] = await Promise.all(
      [ids[0], ids[1]].map(async (id) => (await gateway.get(`/containers/${id}/files`)).json()),
    );
    expect(old).toMatchObject({ data: [{ path: 'a' }] });
    expect(fresh).toMatchObject({ data: [{ path: 'b' }] });
  });
});
