import { once } from 'node:events';
import { globSync, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { testKeys } from '../../src/testing/index.ts';
import { cleanUp, type GatewayProcess, startGateway } from '../lifecycle/gateway-process.ts';
import { probeBubblewrap } from './probe-bubblewrap.ts';
import { findCopies, listProcesses } from './search-machine.ts';
import { patient } from '../../src/testing/patience.ts';

const problem = await probeBubblewrap();
const value = `planted-${process.pid}-7f3c9a1be2d04c58`;
const body = {
  name: 'scout',
  workspace_id: '00000000-0000-4000-8000-0000000000a1',
  provision: true,
  instructions: 'Be brief.',
};
interface Shown {
  id: string;
  status: string;
  hostname: string;
  progress: { stepLabel: string; stepNumber: number } | null;
}

/** One intern, from its creation to its removal, with a gateway that runs as an operator starts it. */
describe.skipIf(problem !== undefined)('an intern', () => {
  const received: IncomingMessage['headers'][] = [];
  let answer = (end: (text: string) => void): void => end('The service works.');
  const traces: string[] = [];
  const service = createServer(async (request, response) => {
    if (request.url === '/v1/traces') {
      traces.push(await readAll(request));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      return;
    }
    received.push(request.headers);
    answer((text) => response.end(text));
  });
  let gate: GatewayProcess;
  let data: string;
  let id: string;
  let hostname: string;
  let before: { rows: Record<string, number>; files: string[]; processes: number[] };

  const send = (method: string, path: string, content?: object): Promise<Response> =>
    fetch(`${gate.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${testKeys.key}`,
        'content-type': 'application/json',
        ...(method === 'POST' && { 'x-headgate-tags': 'team=search' }),
      },
      ...(content && { body: JSON.stringify(content) }),
    });
  const find = async (): Promise<Shown> => (await send('GET', `/interns/${id}`)).json() as Promise<Shown>;
  const readReply = (stream: string): string =>
    [...stream.matchAll(/^data: (\{.*)$/gm)]
      .flatMap(([, json]) => (JSON.parse(json!) as { choices: { delta: { content?: string } }[] }).choices)
      .map(({ delta }) => delta.content ?? '')
      .join('');
  const say = async (content: string): Promise<string> => {
    const message = { stream: true, session_id: 's', messages: [{ role: 'user', content }] };
    const response = await send('POST', `/interns/${id}/chat/completions`, message);
    const stream = await response.text();
    expect({ status: response.status, stream }).toMatchObject({
      status: 200,
      stream: expect.stringContaining('[DONE]'),
    });
    return readReply(stream);
  };
  const untilRunning = async (): Promise<void> => {
    await vi.waitFor(async () => expect(await find()).toMatchObject({ status: 'running' }), { interval: 25 });
  };
  /** What is on the disk and running. */
  const look = () => {
    using database = new DatabaseSync(join(data, 'headgate.db'), { readOnly: true, timeout: patient(5000) });
    const tables = [
      'interns',
      'jobs',
      'vaults',
      'vault_keys',
      'vault_secrets',
      'containers',
      'container_files',
      'keys',
    ];
    const known = database.prepare("select name from sqlite_master where type = 'table'").all();
    const names = known.map(({ name }) => String(name));
    const rows = names.filter((name) => /intern|job|vault|container|lease|key/.test(name) || tables.includes(name));
    return {
      rows: Object.fromEntries(
        rows.map((name) => [
          name,
          Number(database.prepare(`select count(*) as found from "${name}"`).get()?.['found']),
        ]),
      ),
      files: globSync('**', { cwd: data })
        .filter((path) => statSync(join(data, path)).isFile() && !/^headgate\.db|journal|^blocks/.test(path))
        .sort(),
      processes: listProcesses(gate.running.child.pid!)
        .filter(({ command }) => !command.includes('host-process.')) // starts sandboxes, and stays
        .map(({ pid }) => pid),
    };
  };

  beforeAll(async () => {
    service.listen(0, '127.0.0.1');
    await once(service, 'listening');
  });
  afterAll(async () => {
    await gate?.end();
    await cleanUp();
    service.closeAllConnections();
    service.close();
  });

  it('is created and reports its progress until it runs', async () => {
    const { port } = service.address() as AddressInfo;
    gate = await startGateway({
      config: {
        outbound: { allow: ['localhost', '127.0.0.1', '::1'] },
        interns: { health_ms: 500 },
        tags: ['team'],
        telemetry: { otlp_endpoint: `http://127.0.0.1:${port}` },
      },
      env: {
        NODE_OPTIONS: `--import ${join(import.meta.dirname, 'send-to-service.ts')}`,
        HEADGATE_TEST_SERVICE_PORT: String(port),
        HEADGATE_LOG_LEVEL: 'debug',
        PATH: process.env.PATH!,
      },
    });
    data = join(gate.folder, 'data');
    before = look();
    const created = await send('POST', '/interns', body);
    expect(created.status).toBe(201);
    ({ id } = (await created.json()) as Shown);
    const secret = { value, hosts: ['localhost'] };
    expect((await send('PUT', `/vault/interns/${id}/secrets/api_token`, secret)).status).toBe(200);
    const seen = new Map<string, string | undefined>();
    await vi.waitFor(
      async () => {
        const intern = await find();
        seen.set(`${intern.status} ${intern.progress?.stepNumber ?? ''}`, intern.progress?.stepLabel);
        expect(intern.status).toBe('running');
        ({ hostname } = intern);
      },
      { interval: 5 },
    );
    expect([...seen.values()]).toContain('Start runtime');
    expect(hostname).toMatch(/^scout-[0-9a-f]{8}\.interns\.localhost$/);
    expect((await send('PATCH', `/interns/${id}`, { model: 'simulator/echo' })).status).toBe(200);
    expect((await send('POST', `/interns/${id}/suspend`)).status).toBe(200); // the model counts from the next start
    expect((await send('POST', `/interns/${id}/provision`)).status).toBe(202);
    await untilRunning();
  });

  it('chats over HTTP and by its host name', async () => {
    expect(await say('Hello there')).toBe('Hello there');
    const calls = (await (await send('GET', '/generations?tag=team:search')).json()) as { data: { model: string }[] };
    expect(calls.data.map(({ model }) => model)).toEqual(['simulator/echo']);
    const { token } = (await (await send('GET', `/interns/${id}/daemon`)).json()) as { token: string };
    const { port } = new URL(gate.url);
    const request = httpRequest({
      host: '127.0.0.1',
      port,
      path: '/chat/completions',
      method: 'POST',
      headers: { host: hostname, authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
    request.end(JSON.stringify({ stream: true, messages: [{ role: 'user', content: 'By name' }] }));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(readReply(await readAll(response))).toBe('By name');
  });

  it('reaches only its own routes of the gateway with a command', async () => {
    const paths = [
      '/metrics',
      '/health',
      '/ready',
      '/',
      '/api/v1/files',
      '/api/v1/presets',
      `/api/v1/interns/${id}/daemon`,
    ];
    const read = async (...given: string[]): Promise<string[]> => {
      const urls = given.map((path) => `http://gateway.internal${path}`).join(' ');
      const command = `for url in ${urls}; do curl -s -o /dev/null -w '%{http_code} ' -H 'x-api-key: ${testKeys.managementKey}' $url; done`;
      return (await say(`[[call shell ${JSON.stringify({ command })}]]`)).match(/\b\d{3}\b/g) ?? [];
    };
    expect(await read(...paths)).toEqual(paths.map(() => '403'));
    expect(await read('/api/v1/models', `/api/v1/interns/${id}`, '/api/v1/nothing')).toEqual(['200', '200', '404']);
    // The host name of an intern is that of the gateway here: its page would be a 401 without a token.
    const command = `curl -s -o /dev/null -w '%{http_code} ' --proxytunnel -H 'host: ${hostname}' http://gateway.internal/page`;
    expect(await say(`[[call shell ${JSON.stringify({ command })}]]`)).toMatch(/\b(000|40[034])\b/);
  });

  it('talks in the terminal, with its questions', async () => {
    const talk = async (typed: string[], ...args: string[]) => {
      const printed = { stdout: '', stderr: '' };
      const output = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (printed[name] += text) });
      const terminal = { stdout: output('stdout'), stderr: output('stderr'), cwd: gate.folder };
      const input = typed.map((line) => `${line}\n`);
      const code = await runCli([...args, '--url', gate.url, '--config', join(gate.folder, 'headgate.json')], {
        ...terminal,
        env: { HEADGATE_KEY: testKeys.key },
        openInput: () => Readable.from(input),
      });
      return { code, ...printed };
    };
    const chat = ['interns', 'chat', 'scout'];
    expect(await talk([], ...chat, '--message', 'Hello')).toEqual({ code: 0, stdout: 'Hello\n', stderr: '' });
    const asked = await talk(
      ['[[call shell {"command": "echo $((40+2)) >sum; cat sum"}]]', '1', 'Bye'],
      ...[...chat, '--manual', '--session', 'terminal'],
    );
    expect(asked).toMatchObject({ code: 0, stdout: expect.stringMatching(/42[\s\S]*Bye\n$/) });
    expect(asked.stderr).toMatch(/^It wants to run: .*echo[\s\S]* 1 allow_once/);
    const log = await talk([], 'interns', 'logs', id);
    expect(log).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('the runtime is ready') });
    const failed = await talk(['[[fail 400 Too bad.]]', 'never'], ...chat);
    expect(failed).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('Too bad.') });
    expect(await talk([], 'interns', 'chat', 'other')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The key has no access to an intern "other".'),
    });
    const following = talk([], 'interns', 'logs', 'scout', '--follow');
    expect((await send('POST', `/interns/${id}/suspend`)).status).toBe(200);
    expect(await following).toMatchObject({ code: 0, stdout: expect.stringContaining('the runtime is ready') });
    expect(await talk([], ...chat, '--message', 'Hello')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('stopped'),
    });
    expect((await send('POST', `/interns/${id}/provision`)).status).toBe(202);
    await untilRunning();
  });

  it('uses a secret that exists nowhere but in the request to its host', async () => {
    const arrived = Promise.withResolvers<(text: string) => void>();
    answer = (end) => arrived.resolve(end);
    const command =
      'curl -sS --noproxy "" -H "authorization: Bearer $HEADGATE_SECRET_API_TOKEN" http://localhost/used | tee used.txt; env >env.txt';
    const used = say(`[[call shell ${JSON.stringify({ command })}]]`);
    used.then(arrived.reject, arrived.reject); // without a request, its result is the failure
    const end = await arrived.promise;
    expect(received.at(-1)).toMatchObject({ authorization: `Bearer ${value}`, host: 'localhost' });
    const agents = listProcesses(gate.running.child.pid!);
    // The search works where this user can read the memory: it finds the name of the variable.
    const memory = findCopies('HEADGATE_SECRET_API_TOKEN', { processes: agents, memory: true })
      .join()
      .includes('memory of');
    if (!memory) process.stderr.write('interns: memory is not searched, because this user cannot read it.\n');
    expect(memory || process.getuid?.() !== 0).toBe(true);
    expect(findCopies(value, { processes: agents, memory })).toEqual([]);
    end(`It works, ${value}.`);
    const reply = await used;
    expect(reply).toContain('It works, ');
    expect(reply).not.toContain(value);
    expect(findCopies(value, { processes: agents, memory })).toEqual([]);
    expect(readFileSync(`/proc/${gate.running.child.pid}/coredump_filter`, 'utf8').trim()).toBe('00000000');
    expect(await say('[[call read_file {"path": "env.txt"}]]')).toContain('HEADGATE_SECRET_API_TOKEN=');
    // The service shows later what it stored.
    answer = (done) => done(`Notes: ${value}, ${value.slice(0, -1)}, ${Buffer.from(value).toString('base64')}.`);
    const notes = await say(
      `[[call shell ${JSON.stringify({ command: 'curl -sS --noproxy "" http://localhost/notes' })}]]`,
    );
    expect(notes).toContain(`Notes: ${'*'.repeat(value.length)}`);
    expect(notes).not.toContain(value.slice(0, 12));
    const path = { command: 'curl -sS --noproxy "" http://localhost/note/$HEADGATE_SECRET_API_TOKEN' };
    expect(await say(`[[call shell ${JSON.stringify(path)}]]`)).toContain('must not be in the path');
    answer = (done) => done('The service works.');
  });

  it('keeps its files over a suspension', async () => {
    expect(await say('[[call write_file {"path": "notes/a.txt", "content": "kept"}]]')).toContain('written');
    expect((await send('POST', `/interns/${id}/suspend`)).status).toBe(200);
    expect(await find()).toMatchObject({ status: 'stopped', hostname });
    await vi.waitFor(() => expect(look().processes).toEqual(before.processes)); // until they are reaped
    expect((await send('POST', `/interns/${id}/provision`)).status).toBe(202);
    await untilRunning();
    expect(await say('[[call read_file {"path": "notes/a.txt"}]]')).toContain('kept');
  });

  it('leaves nothing when it is deleted', async () => {
    expect((await send('DELETE', `/interns/${id}`)).status).toBe(202);
    await vi.waitFor(async () => expect((await send('GET', `/interns/${id}`)).status).toBe(404));
    await vi.waitFor(() => expect(look()).toEqual(before));
  });

  it('left the secret in no file, log, trace or environment', async () => {
    const gateway = { pid: gate.running.child.pid!, parent: 0, command: 'gateway' };
    expect(findCopies(value, { processes: [gateway, ...listProcesses(gateway.pid)], memory: false })).toEqual([]);
    expect(await gate.end()).toBe(0);
    expect(traces.join()).toContain('simulator/echo');
    const files = globSync('**', { cwd: gate.folder }).map((path) => join(gate.folder, path));
    const contents = files.filter((path) => statSync(path).isFile()).map((path) => readFileSync(path, 'latin1'));
    for (const text of [...contents, ...traces, gate.running.stdout, gate.running.stderr]) {
      for (const form of [value, Buffer.from(value).toString('base64').slice(0, 16)])
        expect(text.includes(form)).toBe(false);
    }
  });
});
