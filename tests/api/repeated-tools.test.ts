import { afterAll, beforeAll, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { provider, wireNames } from './lab.ts';

/** Clients that list a tool twice: https://github.com/LuthienResearch/luthien-proxy/pull/161. */

let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(json({ error: { message: 'The test looks only at the request.' } }, { status: 400 }));
  gateway = await testGateway({ providers: wireNames.map((wire) => provider(wire, 'm', upstream)) });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const read = { name: 'read', description: 'Reads.', input_schema: { type: 'object', properties: {} } };
const write = { ...read, name: 'write' };
const messages = [{ role: 'user', content: 'Go.' }];

async function ask(wire: string, tools: object[]) {
  const before = upstream.requests.length;
  const response = await gateway.post('/messages', { model: `${wire}/m`, max_tokens: 100, messages, tools });
  return { text: await response.text(), sent: upstream.requests[before]?.text };
}

it.each(['openai-chat', 'anthropic-messages', 'gemini'])('are sent once to %s', async (wire) => {
  const { sent } = await ask(wire, [read, write, { ...read }]);
  expect(sent!.match(/"name":"(?:read|write)"/g)).toEqual(['"name":"read"', '"name":"write"']);
});

it.each(['openai-chat', 'anthropic-messages', 'gemini'])('that differ are a 400 for %s', async (wire) => {
  const { sent, text } = await ask(wire, [read, { ...read, description: 'Reads twice.' }]);
  expect(sent).toBeUndefined();
  expect(text).toContain('tools[1].name: two tools would have the name read');
});
