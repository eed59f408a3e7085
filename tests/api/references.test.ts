import { afterEach, beforeEach, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { provider, wholeBody } from './lab.ts';

/** The Vercel AI SDK refers to items of a store, and the gateway stores none: https://github.com/vercel/ai/issues/10290. */
const input = [
  { type: 'message', role: 'user', content: 'Hello' },
  { type: 'item_reference', id: 'rs_04332f' },
  { type: 'item_reference', id: 'fc_1' },
  { type: 'function_call_output', call_id: 'call_1', output: 'rain' },
];

let gateway: TestGateway;
let upstream: ScriptedUpstream;
beforeEach(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({ providers: [provider('openai-responses', 'patient', upstream)] });
});
afterEach(() => Promise.all([gateway.close(), upstream.close()]));

const ask = (more: object = { input }) => gateway.post('/responses', { model: 'openai-responses/patient', ...more });

it('a result beside references stays a result, because a reference may be its call', async () => {
  upstream.respond(json(wholeBody('openai-responses')));
  expect((await ask()).status).toBe(200);
  const { input: sent } = upstream.requests[0]!.body as { input: unknown[] };
  expect(sent.slice(1)).toEqual(input.slice(1));
});

it.each([
  "Item with id 'rs_04332f' not found.",
  "Item with id 'rs_04332f' not found. Items are not persisted when `store` is set to false.",
])('the error says that nothing is stored: %s', async (message) => {
  upstream.respond(json({ error: { message, type: 'invalid_request_error', param: 'input' } }, { status: 404 }));
  const response = await ask();
  expect(response.status).toBe(400);
  expect(await response.text()).toMatch(/This gateway stores nothing: send the item itself/);
});

it('a group of tools needs no description', async () => {
  const group = { type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] };
  upstream.respond(json(wholeBody('openai-responses')));
  expect((await ask({ input: 'Hello', tools: [group] })).status).toBe(200);
  // https://github.com/mxyhi/token_proxy/issues/307
  expect(upstream.requests[0]!.body).toMatchObject({ tools: [{ ...group, description: 'functions' }] });
});
