import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';
import { messagesResponse } from '../clients/messages-responses.ts';
import { responsesApiResponse } from '../clients/responses-api-responses.ts';
import { ask as send, type Mode } from './lab.ts';
import { type Json, main, manage } from './manage.ts';

let gateway: TestGateway;
let upstream: ScriptedUpstream;
const ask = manage(() => gateway);
const keys: Record<string, string> = {};
const turn = { text: 'Hello.' };
/** `openai` and `acme` have the same wire, but only the first is a server that is known to take the field. */
const providers = { openai: 'openai-responses', acme: 'openai-responses', anthropic: 'anthropic-messages' } as const;

const configuration = (server: object = {}) => ({
  catalog: { builtin: false },
  server,
  providers: Object.entries(providers).map(([id, wire]) => ({
    id,
    wire,
    base_url: wire === 'anthropic-messages' ? `${upstream.url}/v1` : upstream.url,
    api_key: 'key',
    models: [{ model: `${id}/one`, pricing: { prompt: 0.000001, completion: 0.000002 } }],
  })),
});

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always((request) =>
    request.path.endsWith('/messages') ? messagesResponse(turn, request) : responsesApiResponse(turn, request),
  );
  gateway = await testGateway(configuration());
  const other = await ask('POST', '/workspaces', { name: 'Second', slug: 'second-team' });
  for (const [name, workspace_id] of [
    ['one', main],
    ['two', main],
    ['other', other.body.data.id],
  ]) {
    keys[name!] = (await ask('POST', '/keys', { name, workspace_id })).body.key;
  }
});
afterAll(() => Promise.all([gateway.close(), upstream.close()]));

/** Returns the identity in the body that the provider got. */
async function sent(model: string, key: string, mode: Mode, body: object = {}): Promise<unknown> {
  const outcome = await send(
    gateway,
    mode,
    { model, input: 'Hi.', ...body },
    { key, headers: { 'x-router-metadata': 'enabled' } },
  );
  expect(outcome.response?.status, outcome.text).toBe('completed');
  expect(outcome.text).not.toContain('dropped_fields');
  const { safety_identifier: identity, user, metadata } = upstream.requests.at(-1)!.body as Json;
  expect(user).toBeUndefined();
  return identity ?? metadata?.user_id;
}

describe.each<Mode>(['buffered', 'streamed'])('a request without an end user, %s', (mode) => {
  it.each(['openai/one', 'anthropic/one'])('of %s has a hash of its workspace', async (model) => {
    const identity = await sent(model, keys['one']!, mode);
    expect(identity).toMatch(/^hg_[0-9a-f]{40}$/);
    expect(identity).not.toContain(main);
    expect(await sent(model, keys['two']!, mode)).toBe(identity);
    expect(await sent(model, keys['other']!, mode)).not.toBe(identity);
    const ofUser = await sent(model, keys['one']!, mode, { safety_identifier: 'ada' });
    expect(ofUser).toMatch(/^hg_[0-9a-f]{40}$/);
    expect(ofUser).not.toBe(identity);
  });

  it('has none at a server that may reject it', async () => {
    expect(await sent('acme/one', keys['one']!, mode)).toBeUndefined();
    expect(await sent('acme/one', keys['one']!, mode, { user: 'ada' })).toMatch(/^hg_/);
  });
});

it('the ledger has no end user then', async () => {
  await sent('openai/one', keys['one']!, 'buffered');
  await gateway.gateway.flush();
  const [entry] = (await ask('GET', '/generations', undefined, keys['one'])).body.data;
  expect(entry.external_user ?? entry.end_user ?? null).toBeNull();
});

it('server.account_identity turns it off', async () => {
  await gateway.reload(configuration({ account_identity: false }));
  try {
    expect(await sent('openai/one', keys['one']!, 'buffered')).toBeUndefined();
    expect(await sent('anthropic/one', keys['one']!, 'buffered')).toBeUndefined();
    expect(await sent('anthropic/one', keys['one']!, 'buffered', { user: 'ada' })).toMatch(/^hg_/);
  } finally {
    await gateway.reload(configuration());
  }
});
