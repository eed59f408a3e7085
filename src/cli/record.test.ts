import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ResponseEvent } from '../domain/events.ts';
import type { ResponseObject } from '../domain/response.ts';
import { nameRequestFile } from '../exchanges/file-names.ts';
import { readRecordedRequest } from '../exchanges/folder.ts';
import { textWires } from '../providers/index.ts';
import {
  gzip,
  hugeBody,
  json,
  recording,
  redirect,
  resetAfter,
  type ScriptedResponse,
  sse,
  stallAfter,
} from '../testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../testing/scripted-upstream.ts';
import { serveRecordings } from '../testing/serve-recordings.ts';
import { runCli } from './program.ts';

const key = 'sk-upstream-key-of-a-test-0123456789';
const teamHeader = 'secret-of-the-team-0123456789';
const recorded = (file: string) => recording(new URL(`../providers/openai-chat/recordings/${file}`, import.meta.url));

let cwd: string;
let upstream: ScriptedUpstream;
beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'headgate-record-'));
  upstream = await startUpstream();
  const provider = {
    id: 'acme',
    wire: 'openai-chat',
    base_url: upstream.url,
    api_key: key,
    headers: { 'x-team': `Token ${teamHeader}` },
    models: [{ model: 'acme/*' }],
  };
  const hasty = { ...provider, id: 'hasty', timeouts: { idle_ms: 200 } };
  write(
    'headgate.yaml',
    JSON.stringify({
      server: { upstream_body_limit: '64KiB' },
      providers: [provider, hasty, { id: 'sim', wire: 'simulator', models: [{ model: 'sim/*' }] }],
    }),
  );
  write(
    'hello.json',
    JSON.stringify({ input: 'Say hello.', user: 'ada@example.com', metadata: { user_id: 'ada-0001' } }),
  );
});
afterEach(async () => {
  await upstream.close();
  rmSync(cwd, { recursive: true });
});

const write = (name: string, text: string) => writeFileSync(join(cwd, name), text);
const list = (folder = 'out') => readdirSync(join(cwd, folder)).sort();
const read = (name: string) => readFileSync(join(cwd, 'out', name), 'utf8');
const asked = (name = 'hello') => JSON.parse(read(`${name}.request.json`)) as Record<string, never>;

async function call(...args: string[]) {
  const printed = { stdout: '', stderr: '' };
  const output = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (printed[name] += text) });
  const code = await runCli(args, { stdout: output('stdout'), stderr: output('stderr'), env: {}, cwd });
  return { code, ...printed };
}
const record = (...more: string[]) =>
  call('record', '--provider', 'acme', '--body', 'hello.json', '--out', 'out', '--model', 'acme/one', ...more);
const replay = (file: string, ...more: string[]) => call('replay', join('out', file), ...more);
const eventsOf = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line.replace(/^data: /, '')) as ResponseEvent);
const serve = (streamed: ScriptedResponse, whole: ScriptedResponse) => {
  upstream.respond(streamed);
  upstream.respond(whole);
};

describe('headgate record', () => {
  it('stores a stream, a whole response and the request, and replay reads them', async () => {
    serve(recorded('text.stream.http'), recorded('text.whole.http'));
    const { code, stdout, stderr } = await record();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(list()).toEqual(['hello.request.json', 'hello.stream.http', 'hello.whole.http']);
    expect(stdout).toContain('hello.stream.http: 200, ');
    expect(upstream.requests.map(({ body }) => body)).toMatchObject([{ model: 'one', stream: true }, { model: 'one' }]);
    expect(asked()).toMatchObject({ wire: 'openai-chat', upstream_model: 'one', request: { input: 'Say hello.' } });

    const streamed = await replay('hello.stream.http');
    expect(streamed).toMatchObject({ code: 0, stderr: 'Omitted from the request: metadata.\n' });
    const events = eventsOf(streamed.stdout);
    expect(events.map((event) => event.type)).toEqual(
      expect.arrayContaining(['response.created', 'response.output_text.delta', 'response.completed']),
    );
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    const whole = await replay('hello.whole.http', '--json');
    expect(whole.code).toBe(0);
    const response = JSON.parse(whole.stdout) as ResponseObject;
    const last = events.at(-1) as unknown as { response: ResponseObject };
    expect(response.output[0]!['content']).toEqual(last.response.output[0]!['content']);
    expect(response.usage).toEqual(last.response.usage);
  });

  it('is replayed whatever the request preferred', async () => {
    write(
      'hello.json',
      JSON.stringify({ input: 'Say hello.', provider: { only: ['acme'], max_price: { prompt: 9 } } }),
    );
    serve(recorded('text.stream.http'), recorded('text.whole.http'));
    expect((await record()).code).toBe(0);
    expect(await replay('hello.whole.http', '--json')).toMatchObject({ code: 0, stderr: '' });
  });

  it('writes no secret of an MCP server', async () => {
    const secrets = { authorization: 'plain-word-of-a-server', headers: { 'x-key': 'another-plain-word' } };
    const mcp = { type: 'mcp', server_label: 'docs', server_url: 'https://mcp.example/', ...secrets };
    write('hello.json', JSON.stringify({ input: 'Say hello.', tools: [mcp] }));
    const echo = { error: { message: `Wrong token ${secrets.authorization}`, type: 'x' } };
    serve(json(echo, { status: 401 }), json(echo, { status: 401 }));
    const { stdout, stderr } = await record();
    const all = stdout + stderr + list().map(read).join('');
    expect(all).toContain('mcp.example');
    for (const secret of ['plain-word-of-a-server', 'another-plain-word']) expect(all).not.toContain(secret);
  });

  it('writes no secret', async () => {
    const echo = {
      error: { message: `Wrong key ${key} of org-A1b2C3d4E5f6 with ${teamHeader}`, type: 'x', code: 'invalid_api_key' },
      user_id: 'user_0bfe935e70c3',
    };
    const headers = { 'set-cookie': 'session=1234567890', 'x-request-id': 'req-9', 'openai-organization': 'acme-inc' };
    serve(json(echo, { status: 401, headers }), json({ ...echo, request_id: 'r-1' }, { status: 401, headers }));
    const { code, stdout } = await record();
    expect(code).toBe(0);
    expect(list()).toEqual(['hello.request.json', 'hello.stream-error.http', 'hello.whole-error.http']);
    const all = stdout + list().map(read).join('');
    const secrets = [
      key,
      teamHeader,
      'ada@example.com',
      'ada-0001',
      'session=',
      'req-9',
      'acme-inc',
      'org-A',
      'user_0',
    ];
    for (const secret of [...secrets, 'r-1', upstream.url]) expect(all).not.toContain(secret);
    expect(read('hello.stream-error.http')).toContain('set-cookie: [removed]\r\n');
    expect(asked()).toMatchObject({ sent: [{ headers: { authorization: '[removed]', 'x-team': '[removed]' } }, {}] });
    const length = /content-length: (\d+)\r\n/.exec(read('hello.whole-error.http'))![1];
    expect(Number(length)).toBe(read('hello.whole-error.http').split('\r\n\r\n')[1]!.length);

    const replayed = await replay('hello.stream-error.http');
    expect(replayed.code).toBe(1);
    expect(JSON.parse(replayed.stdout)).toMatchObject({ error: { code: 502 } });
    expect(replayed.stderr).toContain('The client would get 502: ');
  });

  it('stores what a custom tool needs for replay', async () => {
    write('hello.json', JSON.stringify({ input: 'Run it.', tools: [{ type: 'custom', name: 'run_python' }] }));
    upstream.respond(recorded('custom-tool.stream.http'));
    expect((await record('--stream', '--name', 'tool')).code).toBe(0);
    expect(list()).toEqual(['tool.request.json', 'tool.stream.http']);
    expect((await replay('tool.stream.http', '--json')).stdout).toContain('"custom_tool_call"');
    write('other.json', '{"input": "Hi"}');
    const other = await replay('tool.stream.http', '--json', '--request', 'other.json', '--wire', 'openai-chat');
    expect(other.stdout).toContain('"function_call"');
  });

  it('stores a truncated stream, and reports it', async () => {
    upstream.respond(resetAfter(700, recorded('text.stream.http')));
    const { code, stdout } = await record('--stream');
    expect(code).toBe(0);
    expect(stdout).toContain('cut: acme closed the connection before its response was complete.');
    expect(read('hello.stream.http')).toMatch(
      /^HTTP\/1\.1 200 OK\r\n(.*\r\n)*x-headgate-cut: acme closed the connection/,
    );
    const replayed = await replay('hello.stream.http');
    expect(replayed.code).toBe(1);
    expect(replayed.stderr).toMatch(/closed the connection|ended its response in the middle/);
  });

  it('stores the received part of a response that stalls or does not end', async () => {
    upstream.respond(stallAfter(700, recorded('text.stream.http')));
    const silent = await record('--stream', '--provider', 'hasty');
    expect(silent.stdout).toContain('cut: hasty sent nothing for 200 ms in the middle of its response.');
    expect(read('hello.stream.http').split('\r\n\r\n')[1]).toHaveLength(700);
    upstream.respond(hugeBody(1_000_000_000_000));
    const huge = await record('--whole', '--name', 'huge');
    expect(huge.stdout).toContain('65536 bytes, cut: The response continued after 65536 bytes (upstream_body_limit).');
    expect((await replay('huge.whole.http')).code).toBe(1);
  });

  it('shows events up to the cut, then response.failed', async () => {
    const frames = ['Hello', ' there'].map((content) => ({ choices: [{ index: 0, delta: { content } }] }));
    upstream.respond({ ...sse(frames), end: 'reset' });
    expect((await record('--stream')).code).toBe(0);
    const { code, stdout, stderr } = await replay('hello.stream.http');
    expect(code).toBe(1);
    expect(stderr).toContain('The response is interrupted: ');
    const types = eventsOf(stdout).map(({ type }) => type);
    expect(types.filter((type) => type === 'response.output_text.delta')).toHaveLength(2);
    expect(types.at(-1)).toBe('response.failed');
  });

  it('stores a body uncompressed', async () => {
    upstream.respond(gzip(recorded('unicode.whole.http')));
    expect((await record('--whole')).code).toBe(0);
    expect(read('hello.whole.http')).not.toContain('content-encoding');
    expect((await replay('hello.whole.http')).code).toBe(0);
  });

  it('does not follow a redirect, and stores it as an error', async () => {
    upstream.respond(redirect(`${upstream.url}/elsewhere`));
    expect((await record('--whole')).code).toBe(0);
    expect(upstream.requests).toHaveLength(1);
    expect(read('hello.whole-error.http')).toMatch(/^HTTP\/1\.1 302 Found\r\n(.*\r\n)*location: \[removed\]\r\n/);
  });

  it('reports an unreachable provider, and writes nothing', async () => {
    await upstream.down();
    const { code, stdout, stderr } = await record();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^(headgate: no (stream|whole) response to record: acme cannot be reached .*\n){2}$/);
    expect(list()).toEqual([]);
  });

  it('stores one response if the other fails', async () => {
    serve(recorded('text.stream.http'), { ...recorded('text.whole.http'), start: 'reset' });
    const { code, stderr } = await record();
    expect(code).toBe(1);
    expect(stderr).toContain('no whole response to record');
    expect(list()).toEqual(['hello.request.json', 'hello.stream.http']);
  });

  it('overwrites an earlier recording only with --force, and contacts no provider before', async () => {
    serve(recorded('rate-limited.http'), recorded('text.whole.http'));
    expect((await record()).code).toBe(0);
    const before = list();
    const refused = await record();
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('hello.stream-error.http already exists in out. --force overwrites');
    expect(upstream.requests).toHaveLength(2);
    expect(list()).toEqual(before);
    serve(recorded('text.stream.http'), recorded('text.whole.http'));
    expect((await record('--force')).code).toBe(0);
    expect(list()).toEqual(['hello.request.json', 'hello.stream.http', 'hello.whole.http']);
  });

  it('follows no link out of its folder', async () => {
    mkdirSync(join(cwd, 'out'));
    write('precious', 'mine');
    symlinkSync(join(cwd, 'precious'), join(cwd, 'out', 'hello.stream.http'));
    symlinkSync(join(cwd, 'nowhere'), join(cwd, 'out', 'other.stream.http'));
    upstream.always(recorded('text.stream.http'));
    expect((await record('--stream')).stderr).toContain('already exists');
    expect((await record('--stream', '--name', 'other')).stderr).toContain('already exists');
    expect((await record('--stream', '--force')).code).toBe(0);
    expect(readFileSync(join(cwd, 'precious'), 'utf8')).toBe('mine');
    expect(statSync(join(cwd, 'out', 'hello.stream.http')).mode & 0o077).toBe(0);
  });

  it.each([
    [['--name', '../hello'], '--name is not a name for files: "../hello"'],
    [['--name', 'a/b'], '--name is not a name'],
    [['--name', '.hidden'], '--name is not a name'],
    [['--name', 'a..b'], '--name is not a name'],
    [['--provider', 'acne'], 'There is no provider "acne" in the configuration (known: acme, hasty, sim)'],
    [['--body', 'gone.json'], '--body gone.json: '],
    [['--out', 'hello.json'], 'Files cannot be written in hello.json: '],
    [['--out', 'hello.json/deeper'], 'Files cannot be written in hello.json/deeper: '],
    [['--provider', 'sim'], 'sim runs inside this process, so there is no exchange to record'],
  ])('rejects %j before it contacts a provider', async (args, message) => {
    const { code, stdout, stderr } = await record(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
    expect(upstream.requests).toHaveLength(0);
  });

  it.each([
    ['not JSON', '{', 'is not valid JSON at line 1'],
    ['a request that breaks the rules', '{"input": 7}', '`input`'],
    ['a request that the wire cannot carry', '{"input": "x", "tools": [{"type": "shell"}]}', 'shell'],
  ])('rejects %s', async (_what, body, message) => {
    write('hello.json', body);
    const { code, stderr } = await record('--stream');
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(message));
    expect(upstream.requests).toHaveLength(0);
  });

  it('uses the name of an unlisted model as the name at the provider', async () => {
    upstream.respond(recorded('text.whole.http'));
    expect((await record('--whole', '--model', 'llama-3.3-70b')).code).toBe(0);
    expect(upstream.requests[0]!.body).toMatchObject({ model: 'llama-3.3-70b' });
  });
});

describe('headgate record and replay, on every wire', () => {
  const networked = [...textWires.values()]
    .filter(({ text, forProvider }) => !text.send && !forProvider)
    .map(({ id }) => id);
  const folderOf = (wire: string) => new URL(`../providers/${wire}/recordings/`, import.meta.url);

  it.each(networked)('%s: a stream and a whole response give the same result', async (wire) => {
    upstream.always(serveRecordings(folderOf(wire)));
    const entry = { id: wire, wire, base_url: upstream.url, api_key: key, models: [{ model: `${wire}/*` }] };
    write('wire.json', JSON.stringify({ providers: [entry] }));
    for (const name of ['text', 'unicode', 'custom-tool']) {
      const beside = readRecordedRequest(fileURLToPath(new URL(nameRequestFile(name), folderOf(wire))));
      write('asked.json', JSON.stringify(beside?.request ?? { input: 'Hello' }));
      const args = [
        '--config',
        'wire.json',
        '--provider',
        wire,
        '--body',
        'asked.json',
        '--out',
        'out',
        '--name',
        name,
      ];
      expect(await call('record', ...args, '--model', `${wire}/${name}`)).toMatchObject({ code: 0, stderr: '' });
      const [streamed, whole] = await Promise.all([
        replay(`${name}.stream.http`, '--json'),
        replay(`${name}.whole.http`, '--json'),
      ]);
      expect([streamed.code, whole.code]).toEqual([0, 0]);
      expect(contentOf(streamed.stdout)).toEqual(contentOf(whole.stdout));
      if (name === 'custom-tool') expect(whole.stdout).toContain('"custom_tool_call"');
    }
    expect(list().map(read).join('')).not.toContain(key);
  });

  it.each(networked)('%s: no name of a model leads out of the base URL', async (wire) => {
    upstream.always(json({}, { status: 404 }));
    const entry = { id: wire, wire, base_url: upstream.url, models: [{ model: 'm' }] };
    write('wire.json', JSON.stringify({ providers: [entry] }));
    const model = '../../admin?x=#/../y';
    await record('--config', 'wire.json', '--provider', wire, '--model', model, '--stream');
    for (const { path } of upstream.requests) {
      expect(new URL(path, upstream.url).pathname).toMatch(
        /^\/v1\/(chat\/completions|responses|messages|models\/[^/]+)$/,
      );
    }
  });

  /** What was said, without the ids that were drawn. */
  const contentOf = (response: string) =>
    (JSON.parse(response) as ResponseObject).output.map(({ id: _id, ...item }) => item);
});

describe('headgate replay', () => {
  const fixture = (name: string) => new URL(`../providers/openai-chat/recordings/${name}`, import.meta.url).pathname;

  it.each([
    [[fixture('text.stream.http')], 'The wire of the recording is unknown: give --wire'],
    [[fixture('text.stream.http'), '--wire', 'telex'], 'There is no wire "telex": give --wire with one of openai-'],
    [['gone.http', '--wire', 'openai-chat'], 'gone.http: '],
    [['hello.json', '--wire', 'openai-chat'], 'does not begin with the head of an HTTP response'],
    [[fixture('text.stream.http'), '--wire', 'openai-chat', '--request', 'headgate.yaml'], 'The request: '],
  ])('rejects %j', async (args, message) => {
    const { code, stdout, stderr } = await call('replay', ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
  });

  it('rejects an invalid request beside the recording', async () => {
    mkdirSync(join(cwd, 'out'));
    writeFileSync(join(cwd, 'out', 'a.http'), 'HTTP/1.1 200 OK\r\n\r\n{}');
    writeFileSync(join(cwd, 'out', 'a.request.json'), '{"wire": 7}');
    expect((await replay('a.http')).stderr).toContain('a.request.json does not describe a request');
    writeFileSync(
      join(cwd, 'out', 'a.request.json'),
      '{"wire": "openai-chat", "dialect": {"nope": 1}, "request": {"input": "Hi"}}',
    );
    expect((await replay('a.http')).stderr).toContain('dialect.nope is not a setting');
  });
});
