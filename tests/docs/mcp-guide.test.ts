import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { OutputItem } from '../../src/domain/items.ts';
import type { ResponseObject } from '../../src/domain/response.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { chatResponse } from '../clients/chat-responses.ts';
import type { Turn } from '../clients/turn.ts';
import { mcpText, type ScriptedMcpServer, startMcpServer } from '../tools/mcp-server.ts';

/* The guide, with the reference server as the process of its configuration. */

const page = readFileSync(new URL('../../docs/guides/mcp.md', import.meta.url), 'utf8');
const [, yaml] = /<!-- configuration -->\n```yaml\n([\s\S]*?)```/.exec(page)!;
const requests = new Map(
  [...page.matchAll(/<!-- request (\w+) -->\n```json\n([\s\S]*?)```/g)].map(([, name, body]) => [
    name!,
    JSON.parse(body!) as { tools: [Record<string, unknown>] },
  ]),
);
const shown = JSON.parse(/```json\n(\{\n {2}"output"[\s\S]*?)```/.exec(page)![1]!) as ResponseObject;
const [request, decision] = [...page.matchAll(/```json\n(\{ "type": "mcp_approval_[\s\S]*?)```/g)].map(
  ([, json]) => JSON.parse(json!) as OutputItem,
);

const everything = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json')),
  'dist/index.js',
);

let gateway: TestGateway;
let model: ScriptedUpstream;
let remote: ScriptedMcpServer;
beforeAll(async () => {
  model = await startUpstream();
  remote = await startMcpServer();
  remote.always('tools/call', ({ result, rpc }) =>
    result(mcpText(`Echo: ${String(rpc.params?.arguments?.['message'])}`)),
  );
  const { mcp } = parse(yaml!.replace(/\$\{\w+\}/, 'x').replace('[default]', '[main]')) as {
    mcp: { servers: { demo: object } };
  };
  Object.assign(mcp.servers.demo, { command: process.execPath, args: [everything] });
  gateway = await testGateway({
    providers: [{ id: 'acme', wire: 'openai-chat', base_url: model.url, models: [{ model: 'acme/one' }] }],
    outbound: { allow: [new URL(remote.url).host] },
    mcp,
  });
});
afterAll(async () => {
  await gateway.close();
  await model.close();
  await remote.close();
});

const respond = async (body: object, ...turns: Turn[]): Promise<ResponseObject> => {
  for (const turn of turns) model.respond((sent) => chatResponse(turn, sent));
  const response = await gateway.post('/responses', body);
  expect(response.status).toBe(200);
  return (await response.json()) as ResponseObject;
};
const calls = [{ name: 'demo__echo', input: { message: 'hello' } }];
const fieldsOf = (items: readonly OutputItem[]) =>
  items.map(({ type, name, server_label: label, arguments: given, output }) => ({ type, name, label, given, output }));

describe('the guide of MCP', () => {
  it('shows a request with a server of the caller, and its response', async () => {
    const body = requests.get('remote')!;
    const tools = [{ ...body.tools[0], server_url: remote.url }];
    const { output } = await respond({ ...body, tools }, { calls }, { text: 'Done.' });
    expect(fieldsOf(output)).toEqual(fieldsOf(shown.output));
    expect(remote.requests.at(-1)!.headers.authorization).toBe('Bearer token-of-the-server');
  });

  it('shows a request for the simulator', async () => {
    const { output } = await respond(requests.get('simulated')!);
    expect(output).toMatchObject([
      { type: 'mcp_list_tools' },
      { type: 'mcp_call', name: 'echo', output: expect.stringMatching(/^Echo: /) },
      { type: 'message' },
    ]);
  });

  it('shows a server of the configuration, and a request that uses it', async () => {
    const { output } = await respond(requests.get('configured')!, { calls }, { text: 'Done.' });
    expect(fieldsOf(output)).toEqual(fieldsOf(shown.output));
    expect((output[0]!['tools'] as unknown[]).length).toBeGreaterThan(5);
  });

  it('shows a request for approval, and the decision', async () => {
    const body = requests.get('configured')!;
    const tools = [{ ...body.tools[0], require_approval: 'always' }];
    const { output } = await respond({ ...body, tools }, { calls });
    const asked = output.find(({ type }) => type === 'mcp_approval_request')!;
    expect({ ...asked, id: 'mcpr_1' }).toEqual(request);
    const input = [
      { type: 'message', role: 'user', content: 'Repeat: hello' },
      ...output,
      { ...decision, approval_request_id: asked.id },
    ];
    const next = await respond({ ...body, tools, input }, { text: 'Done.' });
    expect(next.output).toMatchObject([{ type: 'mcp_call', output: 'Echo: hello' }, { type: 'message' }]);
  });
});
