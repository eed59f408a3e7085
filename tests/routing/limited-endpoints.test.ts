import { afterEach, beforeEach, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { provider, wholeBody } from '../api/lab.ts';

/*
 * An endpoint that limits the rate is avoided until its wait is over. Sources:
 * https://github.com/router-for-me/CLIProxyAPI/issues/1666 (waits in the body), https://github.com/juspay/neurolink/pull/1143
 * (headers of Claude's plans), https://github.com/BerriAI/litellm/issues/40130 (the longer wait counts),
 * https://github.com/router-for-me/CLIProxyAPI/issues/5758 (a wait of days must not exclude an endpoint)
 */

let gateway: TestGateway;
let first: ScriptedUpstream;
let second: ScriptedUpstream;
beforeEach(async () => {
  [first, second] = await Promise.all([startUpstream(), startUpstream()]);
  second.always(json(wholeBody('openai-chat', 'Second.')));
  gateway = await testGateway({
    catalog: { builtin: false },
    routing: { strategy: 'weighted' },
    providers: [
      provider('openai-chat', 'first', first, {
        models: [{ model: 'shared', upstream_model: 'm', weight: 1 }, { model: 'alone' }],
      }),
      provider('openai-chat', 'second', second, {
        models: [{ model: 'shared', upstream_model: 'm', weight: 0 }, { model: 'other' }],
      }),
    ],
  });
});
afterEach(() => Promise.all([gateway.close(), first.close(), second.close()]));

const limited = (error: object, headers: Record<string, string> = {}) =>
  json({ error: { message: 'The usage limit has been reached', ...error } }, { status: 429, headers });
const later = (seconds: number) => String(Math.floor(Date.now() / 1000) + seconds);

/** Sends a request twice. @returns how often the first endpoint was tried by the second one */
async function triesAfter(body: object): Promise<number> {
  const ask = async () => (await gateway.post('/responses', { input: 'Hello', ...body })).text();
  expect(await ask()).toContain('Second.');
  const before = first.requests.length;
  expect(before).toBe(1);
  expect(await ask()).toContain('Second.');
  return first.requests.length - before;
}

it.each([
  ['Retry-After', {}, { 'retry-after': '600' }],
  ['no wait', { code: 'rate_limit_exceeded' }, {}],
  ['an empty account', { code: 'insufficient_quota' }, {}],
  ['resets_in_seconds', { type: 'usage_limit_reached', resets_in_seconds: 529_498 }, {}],
  ['resets_at', { type: 'usage_limit_reached', resets_at: Number(later(4000)) }, {}],
  ['reset_seconds', { code: 'model_cooldown', reset_seconds: 300 }, {}],
  [
    'the windows of a plan',
    { type: 'rate_limit_error' },
    {
      'anthropic-ratelimit-unified-5h-status': 'allowed',
      'anthropic-ratelimit-unified-5h-reset': later(50),
      'anthropic-ratelimit-unified-7d-status': 'rejected',
      'anthropic-ratelimit-unified-7d-reset': later(4000),
    },
  ],
])('is avoided after %s', async (_, error, headers) => {
  first.always(limited(error, headers));
  expect(await triesAfter({ model: 'shared' })).toBe(0);
});

it.each([
  ['models', { models: ['alone', 'other'] }],
  ['providers', { model: 'shared', provider: { order: ['openai-chat-first', 'openai-chat-second'] } }],
])('is avoided in an order of %s that the request names, until its wait is over', async (_, body) => {
  first.always(limited({}, { 'retry-after': '600' }));
  expect(await triesAfter(body)).toBe(0);
});

it.each([
  ['models', { models: ['alone', 'other'] }],
  ['providers', { model: 'shared', provider: { order: ['openai-chat-first', 'openai-chat-second'] } }],
])('is tried first in an order of %s if it named no wait', async (_, body) => {
  first.always(limited({}));
  expect(await triesAfter(body)).toBe(1);
});

it('is tried if nothing else is left, however long its wait is', async () => {
  first.respond(limited({ resets_in_seconds: 529_498 }));
  first.respond(json(wholeBody('openai-chat', 'First.')));
  const refused = await gateway.post('/responses', { model: 'alone', input: 'Hello' });
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('529498');
  expect(await (await gateway.post('/responses', { model: 'alone', input: 'Hello' })).text()).toContain('First.');
});
