import { spawn, type ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findFreePort } from '../../src/testing/free-port.ts';
import { call, modes, openToolLab, shownItems, type ToolLab } from './lab.ts';
import { type ScriptedMcpServer, startMcpServer } from './mcp-server.ts';

/* Providers that run MCP, and the reference server over HTTP. */

const everything = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json')),
  'dist/index.js',
);
const secret = 'key-of-the-caller-1234567890';
let server: ScriptedMcpServer;
let reference: ChildProcess;
let lab: ToolLab;

beforeAll(async () => {
  server = await startMcpServer();
  const port = await findFreePort();
  reference = spawn(process.execPath, [everything, 'streamableHttp'], {
    env: { PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await new Promise<void>((resolve) => {
    reference.stderr!.on('data', (data) => String(data).includes('listening') && resolve());
  });
  lab = await openToolLab({
    outbound: { allow: [new URL(server.url).host, `127.0.0.1:${port}`] },
    mcp: {
      servers: {
        docs: { url: server.url, require_approval: 'never' },
        reference: { url: `http://127.0.0.1:${port}/mcp`, require_approval: 'never' },
      },
    },
  });
});
beforeEach(() => {
  server.reset();
  lab.takeRequests();
});
afterAll(async () => {
  await lab.close();
  await server.close();
  reference.kill();
});

const mine = () => ({ type: 'mcp', server_label: 'mine', server_url: server.url, authorization: secret });
const wire = 'openai-responses';
const bodyOf = (request: unknown) => (request as { body: { tools?: object[]; input: { type: string }[] } }).body;

describe.each(modes)('a provider that runs MCP, %s', (mode) => {
  it('gets the tool of a caller as it is, and its secrets appear nowhere else', async () => {
    lab.script(wire, { text: 'ok' });
    const served = await lab.respond(wire, mode, { tools: [mine()], debug: { echo_upstream_body: true } });
    const [sent] = lab.takeRequests();
    expect(bodyOf(sent).tools).toEqual([mine()]);
    expect(served.body.tools).toEqual([{ type: 'mcp', server_label: 'mine', server_url: server.url }]);
    expect(JSON.stringify(served)).not.toContain(secret);
    expect(server.requests).toEqual([]);
  });

  it('gets its own items back, and those of other servers as functions', async () => {
    const items = ['mine', 'docs'].map((label) => ({
      type: 'mcp_call',
      id: `mcp_${label}`,
      server_label: label,
      name: 'echo',
      arguments: '{}',
      output: `output of ${label}`,
    }));
    lab.script(wire, { text: 'ok' });
    const input = [{ type: 'message', role: 'user', content: 'Go on.' }, ...items];
    await lab.respond(wire, mode, { input, tools: [mine(), { type: 'mcp', server_label: 'docs' }] });
    const { input: sent, tools } = bodyOf(lab.takeRequests()[0]);
    expect(sent.map(({ type }) => type)).toEqual(['message', 'mcp_call', 'function_call', 'function_call_output']);
    expect(tools!.map((tool) => (tool as { type: string; name?: string }).name ?? 'mcp')).toEqual([
      'mcp',
      'docs__echo',
      'docs__write',
    ]);
  });

  it('gets the items of servers of the operator as functions after the tools are gone', async () => {
    const item = { type: 'mcp_call', id: 'mcp_1', server_label: 'docs', name: 'echo', arguments: '{}', output: 'x' };
    const listing = { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'docs', tools: [] };
    lab.script(wire, { text: 'ok' });
    const input = [listing, item, { type: 'message', role: 'user', content: 'Go on.' }];
    await lab.respond(wire, mode, { input });
    const { input: sent } = bodyOf(lab.takeRequests()[0]);
    expect(sent.map(({ type }) => type)).toEqual(['function_call', 'function_call_output', 'message']);
  });

  it.each([
    ['alone', []],
    ['beside a server of the operator', [{ type: 'mcp', server_label: 'reference' }]],
  ])('gets the decisions about its own calls, also for a label of the operator, %s', async (_where, others) => {
    for (const label of ['mine', 'docs']) {
      for (const approve of [true, false]) {
        const items = [
          { type: 'mcp_list_tools', id: 'mcpl_1', server_label: label, tools: [] },
          { type: 'mcp_approval_request', id: 'mcpr_1', server_label: label, name: 'echo', arguments: '{}' },
          { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve },
        ];
        const input = [{ type: 'message', role: 'user', content: 'Go on.' }, ...items];
        lab.script(wire, { text: 'ok' });
        const served = await lab.respond(wire, mode, { input, tools: [{ ...mine(), server_label: label }, ...others] });
        expect(served.body).toMatchObject({ status: 'completed', error: null });
        const { input: sent } = bodyOf(lab.takeRequests()[0]);
        expect(sent.slice(1)).toEqual(items);
      }
    }
    expect(server.methods()).toEqual([]);
  });

  it('leaves the servers of the operator to the gateway', async () => {
    lab.script(wire, { calls: [call('docs__echo', { text: 'hello' })] }, { text: 'ok' });
    const served = await lab.respond(wire, mode, { tools: [{ type: 'mcp', server_label: 'docs' }, mine()] });
    expect(shownItems(served).map(({ type }) => type)).toEqual(['mcp_list_tools', 'mcp_call', 'message']);
    expect(served.body.status).toBe('completed');
  });
});

it('calls the reference server over HTTP', async () => {
  lab.script(
    'anthropic-messages',
    { calls: [call('reference__get-sum', { a: 2, b: 3 }), call('reference__get-tiny-image')] },
    { text: 'ok' },
  );
  const tools = [{ type: 'mcp', server_label: 'reference' }];
  const served = await lab.respond('anthropic-messages', 'streamed', { tools });
  const [listing, sum, image] = shownItems(served);
  expect((listing!['tools'] as unknown[]).length).toBeGreaterThan(5);
  expect(sum).toMatchObject({ type: 'mcp_call', output: expect.stringContaining('5'), error: null });
  expect(image!['output']).toContain('bytes, which the gateway does not pass on');
});

it('may name a server of the gateway in an `additional_tools` item', async () => {
  lab.takeRequests();
  lab.script(wire, { text: 'Done.' });
  const input = [
    { role: 'user', content: 'Hi' },
    { type: 'additional_tools', role: 'developer', tools: [{ type: 'mcp', server_label: 'docs' }] },
  ];
  const served = await lab.respond(wire, 'buffered', { input });
  expect(served.body.error).toBeFalsy();
  expect(served.body.output[0]).toMatchObject({ type: 'mcp_list_tools', server_label: 'docs' });
  expect(lab.takeRequests()[0]!.text).toContain('docs__echo');
});

it('says how the operator allows a private address', async () => {
  const closed = await openToolLab();
  const served = await closed.respond('gemini', 'buffered', { tools: [mine()] });
  expect(served.status).toBe(400);
  expect(served.body.error!.message).toContain('outbound.allow');
  await closed.close();
});

it('calls no server of a caller if the operator forbids it', async () => {
  const closed = await openToolLab({ mcp: { caller_servers: false } });
  const served = await closed.respond('gemini', 'buffered', { tools: [mine()] });
  expect(served.status).toBe(400);
  expect(served.body.error!.message).toContain('tools[0].server_url: `server_url` is not allowed');
  await closed.close();
});

it('does not load the library before the first server', async () => {
  const source = join(import.meta.dirname, '../../src');
  const code = `
    import { openGateway } from '${source}/gateway.ts';
    import { loadConfig } from '${source}/config/load.ts';
    import { mkdtempSync } from 'node:fs';
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    const { config } = loadConfig({ env: { HEADGATE_SERVER_PORT: '0', HEADGATE_LOG_LEVEL: 'silent', HEADGATE_MCP_SERVERS: '{"x":{"command":"x"}}' }, file: null, cwd: '/' });
    const gateway = await openGateway({ config, dataDir: mkdtempSync('/tmp/mcp-lazy-'), ownsProcess: true });
    await gateway.start();
    await gateway.close();
    console.log(JSON.stringify(loaded.filter((url) => url.includes('modelcontextprotocol'))));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.on('data', (data) => {
    printed += String(data);
  });
  await new Promise((resolve) => child.once('close', resolve));
  expect(printed.trim()).toBe('[]');
});
