import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  json,
  resetAfter,
  resetBeforeHeaders,
  type ScriptedResponse,
  stallAfter,
} from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { answer, ask, type Case, cases, provider, stream, streamFrames, type WireName, wholeBody } from './lab.ts';
import { draw, paint } from './images-lab.ts';
import { newSession, readRows, rowsOf } from './ledger-rows.ts';
import { main, manage } from './manage.ts';
import { expectBroken, expectFailure, expectText, type Outcome } from './outcome.ts';
import { patient } from '../../src/testing/patience.ts';

/*
 * A failed attempt is repeated at the same endpoint if no other one is left. Delays are 0 here; `endpoint-queue.test.ts`
 * tests the delays.
 */

let gateway: TestGateway;
let upstream: ScriptedUpstream;
let other: ScriptedUpstream;
beforeEach(async () => {
  [upstream, other] = await Promise.all([startUpstream(), startUpstream()]);
});
afterEach(() => Promise.all([gateway?.close(), upstream.close(), other.close()]));

const pricing = { prompt: '0.000001', completion: '0.000002' };
const wires: WireName[] = ['openai-chat', 'openai-responses'];

interface Parts extends Record<string, unknown> {
  retry?: object;
  /** Fields of the providers `<wire>-first`. */
  first?: object;
  /** Whether `<wire>/m` is at `<wire>-second`, too, after the first. */
  hasSecond?: boolean;
}

/** The model `<wire>/m` at the provider `<wire>-first`. */
async function open({ retry, first, hasSecond = false, ...parts }: Parts = {}): Promise<void> {
  const models = (wire: WireName, weight: number) => [{ model: `${wire}/m`, upstream_model: 'm', pricing, weight }];
  gateway = await testGateway({
    catalog: { builtin: false },
    routing: { strategy: 'weighted' },
    retry: { backoff_ms: 0, ...retry },
    providers: wires.flatMap((wire) => [
      provider(wire, 'first', upstream, { models: models(wire, 1), ...first }),
      ...(hasSecond ? [provider(wire, 'second', other, { models: models(wire, 0) })] : []),
    ]),
    ...parts,
  });
}

const metadata = { 'x-router-metadata': 'enabled' };
const askFor = (how: Case, body: object = {}, options: object = {}): Promise<Outcome> =>
  ask(gateway, how.mode, { model: `${how.wire}/m`, ...body }, { headers: metadata, ...options });

const failing = (status: number, headers: Record<string, string> = {}): ScriptedResponse =>
  json({ error: { message: `Failed with ${status}.` } }, { status, headers });

/** Provider and status of each attempt that the metadata lists. */
const attemptsOf = ({ response, envelope }: Outcome): unknown[] => {
  const told = (response ?? envelope) as { router_metadata?: { attempt: number; attempts?: object[] } };
  const attempts = (told.router_metadata?.attempts ?? []) as { provider: string; status: number }[];
  expect(told.router_metadata?.attempt).toBe(attempts.length);
  return attempts.map(({ provider: name, status }) => `${name} ${status}`);
};

async function readMetric(name: string): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const values = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

describe.each(cases)('$wire, $mode, with one endpoint', (how) => {
  const { wire, mode } = how;
  const name = `${wire}-first`;

  it('a request is repeated after each failure that may pass, and the client sees a success', async () => {
    const failures: [string, ScriptedResponse, number][] = [
      // First, on a new connection: a reset of one that was kept alive is repeated without an attempt.
      ['a reset before the response', resetBeforeHeaders(), 502],
      ['503', failing(503), 529],
      ['500', failing(500), 502],
      ['429', failing(429, { 'retry-after': '0' }), 429],
      ['504', failing(504), 524],
      ['a reset within the response', resetAfter(15, answer(how)), 502],
    ];
    await open();
    for (const [index, [failure, response, status]] of failures.entries()) {
      upstream.respond(response);
      upstream.respond(answer(how));
      const session = newSession();
      const outcome = await askFor(how, { session_id: session });
      expectText(outcome, 'Hello there.');
      expect([failure, ...attemptsOf(outcome)]).toEqual([failure, `${name} ${status}`, `${name} 200`]);
      expect(upstream.requests).toHaveLength(2 * (index + 1));
      const [first, second] = upstream.requests.slice(-2);
      expect(second!.text).toBe(first!.text);
      expect(await rowsOf(gateway.dataDir, session)).toMatchObject([
        { outcome: 'completed', status: 200, provider: name },
      ]);
      expect(await readMetric('headgate_attempts_total')).toBe(2 * (index + 1));
      expect(await readMetric('headgate_retries_total')).toBe(index + 1);
    }
  });

  it('the last failure is the answer if all attempts fail, with the others in its metadata', async () => {
    await open();
    upstream.always(failing(503));
    const outcome = await askFor(how);
    const { error } = expectFailure(outcome, 529, 'provider_overloaded');
    expect(error.metadata).toMatchObject({
      previous_errors: [
        { provider: name, status: 529 },
        { provider: name, status: 529 },
      ],
    });
    expect(attemptsOf(outcome)).toEqual([`${name} 529`, `${name} 529`, `${name} 529`]);
    expect(upstream.requests).toHaveLength(3);
    expect(await readMetric('headgate_retries_total')).toBe(2);
    expect(await readMetric('headgate_endpoint_stable')).toBe(0); // three failures in a row
  });

  it('a provider that refuses connections is tried as often', async () => {
    await open();
    await upstream.down();
    const outcome = await askFor(how);
    expectFailure(outcome, 502, 'provider_unavailable', /cannot be reached/);
    expect(attemptsOf(outcome)).toEqual([`${name} 502`, `${name} 502`, `${name} 502`]);
  });

  it('each other status is final', async () => {
    const statuses = [400, 401, 402, 403, 404, 413, 422, 501];
    // A provider for each: some statuses change how the next request is served.
    const providers = statuses.map((status) =>
      provider(wire, `${status}`, upstream, { models: [{ model: `${wire}/${status}`, upstream_model: 'm' }] }),
    );
    await open({ providers });
    for (const [index, status] of statuses.entries()) {
      upstream.always(failing(status));
      const outcome = await askFor(how, { model: `${wire}/${status}` });
      expect(outcome.status).toBeGreaterThanOrEqual(400);
      expect([status, upstream.requests.length]).toEqual([status, index + 1]);
    }
  });

  it('an empty account is final, and so is a wait beyond the bound, which the client gets', async () => {
    await open();
    upstream.respond(json({ error: { message: 'No.', code: 'insufficient_quota' } }, { status: 429 }));
    expect((await askFor(how)).status).toBe(429);
    upstream.respond(failing(429, { 'retry-after': '60' }));
    const limited = await askFor(how);
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '60']);
    expect(upstream.requests).toHaveLength(2);
  });

  it('a delay beyond the deadline of the request does not begin', async () => {
    await open({ retry: { max_retry_after_ms: 900_000, budget_ms: 900_000 } });
    upstream.always(failing(503, { 'retry-after': '700' }));
    expect((await askFor(how)).status).toBe(529);
    expect(upstream.requests).toHaveLength(1);
  });

  it('a client that disconnects during the delay ends the request at once', async () => {
    await open({ retry: { max_retry_after_ms: 500_000, budget_ms: 500_000 } });
    upstream.always(failing(503, { 'retry-after': '300' }));
    const client = new AbortController();
    const session = newSession();
    const asked = askFor(how, { session_id: session }, { signal: client.signal }).catch(() => {});
    const first = await upstream.nextRequest();
    await first.closed;
    expect(readRows(gateway.dataDir)).toEqual([]);
    client.abort();
    await asked;
    expect(await rowsOf(gateway.dataDir, session)).toMatchObject([{ outcome: 'cancelled', status: 499 }]);
    expect(upstream.requests).toHaveLength(1);
  });

  it('a provider may have a policy of its own, or none', async () => {
    await open({ first: { retry: { attempts: 1 } } });
    upstream.always(failing(503));
    await askFor(how);
    expect(upstream.requests).toHaveLength(1);
    await gateway.close();
    await open({ retry: { attempts: 1 }, first: { retry: { attempts: 5 } } });
    await askFor(how);
    expect(upstream.requests).toHaveLength(6);
  });

  it('the retries of a provider have a budget', async () => {
    await open({ retry: { minimum: 1, share: 0 } });
    upstream.always(failing(503));
    await askFor(how);
    await askFor(how);
    expect(upstream.requests).toHaveLength(3); // two, then one
  });

  it('counts once for the rates of its key and its model', async () => {
    await open({ limits: { requests_per_minute: 2, models: [{ model: `${wire}/*`, requests_per_minute: 2 }] } });
    for (const each of [failing(503), failing(503), answer(how), answer(how)]) upstream.respond(each);
    expectText(await askFor(how), 'Hello there.');
    expectText(await askFor(how), 'Hello there.');
    expect((await askFor(how)).status).toBe(429);
    expect(upstream.requests).toHaveLength(4);
  });

  it('also with `allow_fallbacks: false`', async () => {
    await open({ hasSecond: true });
    upstream.respond(failing(503));
    upstream.respond(answer(how));
    const outcome = await askFor(how, { provider: { allow_fallbacks: false } });
    expect(attemptsOf(outcome)).toEqual([`${name} 529`, `${name} 200`]);
    expect(other.requests).toHaveLength(0);
  });

  it('the other keys of the provider come first', async () => {
    await open({ first: { api_key: ['key-one', 'key-two'] }, retry: { attempts: 2 } });
    upstream.always(failing(429, { 'retry-after': '0' }));
    const outcome = await askFor(how);
    expect(outcome.status).toBe(429);
    const keys = upstream.requests.map(({ headers }) => headers.authorization);
    expect(keys.slice(0, 2).sort()).toEqual(['Bearer key-one', 'Bearer key-two']);
    expect(keys.length).toBeGreaterThan(2);
  });

  it('the cost of failed attempts is in the ledger, and must fit into the limit of the key', async () => {
    await open();
    const usage = { prompt_tokens: 100, completion_tokens: 40, total_tokens: 140 };
    const choice = { index: 0, finish_reason: 'error', [mode === 'streamed' ? 'delta' : 'message']: { content: '' } };
    const broken = { ...wholeBody('openai-chat'), choices: [choice], usage };
    const failed = { status: 'failed', error: { code: 'server_error', message: 'No.' } };
    const body = { ...wholeBody('openai-responses'), ...failed, output: [] };
    const counted = { ...body, usage: { input_tokens: 100, output_tokens: 40, total_tokens: 140 } };
    /** An interrupted response with a report. */
    const inPart = (): ScriptedResponse => {
      if (wire === 'openai-chat') return mode === 'streamed' ? stream(wire, [broken]) : json(broken);
      return mode === 'streamed' ? stream(wire, [{ type: 'response.failed', response: counted }]) : json(counted);
    };
    const brokenCost = 100_000 + 80_000;
    const answerCost = 20_000 + 20_000;

    upstream.respond(inPart());
    upstream.respond(answer(how));
    const session = newSession();
    expectText(await askFor(how, { session_id: session }), 'Hello there.');
    expect(await rowsOf(gateway.dataDir, session)).toMatchObject([{ cost_nano_usd: brokenCost + answerCost }]);

    const made = { name: 'poor', workspace_id: main, limit: (brokenCost + 10_000) / 1e9 };
    const { key } = (await manage(() => gateway)('POST', '/keys', made)).body as { key: string };
    upstream.respond(inPart());
    const before = upstream.requests.length;
    const refused = await askFor(how, { max_output_tokens: 10 }, { key });
    expect(refused.status).toBe(402);
    expect(upstream.requests).toHaveLength(before + 1);
  });
});

describe.each(cases)('$wire, $mode, with two endpoints', (how) => {
  const [first, second] = [`${how.wire}-first`, `${how.wire}-second`];

  it('the other one is tried at once, and the first again only if none is left', async () => {
    await open({ hasSecond: true });
    upstream.respond(failing(503));
    other.respond(failing(500));
    upstream.respond(answer(how));
    const outcome = await askFor(how);
    expectText(outcome, 'Hello there.');
    expect(attemptsOf(outcome)).toEqual([`${first} 529`, `${second} 502`, `${first} 200`]);
  });

  it('an endpoint whose failure is final is not tried again', async () => {
    await open({ hasSecond: true });
    upstream.always(failing(401));
    other.always(failing(503));
    const outcome = await askFor(how);
    expect(attemptsOf(outcome)).toEqual([`${first} 502`, `${second} 529`, `${second} 529`, `${second} 529`]);
  });

  it('all attempts together are bounded by `routing.max_attempts`', async () => {
    await open({ hasSecond: true, routing: { strategy: 'weighted', max_attempts: 3 } });
    upstream.always(failing(503));
    other.always(failing(503));
    expect(attemptsOf(await askFor(how))).toEqual([`${first} 529`, `${second} 529`, `${first} 529`]);
  });
});

describe.each(wires)('%s, streamed', (wire) => {
  it('a response that was interrupted after its first output is not repeated', async () => {
    await open();
    const frames = streamFrames(wire, ['Hello', ' there.']);
    const whole = stream(wire, frames.slice(0, wire === 'openai-chat' ? 2 : 5), { done: false });
    upstream.respond({ ...whole, end: 'reset' });
    const outcome = await askFor({ wire, mode: 'streamed' });
    expectBroken(outcome, 'provider_unavailable', 'Hello');
    expect(upstream.requests).toHaveLength(1);
  });
});

it('retries are on by default', async () => {
  gateway = await testGateway({ retry: undefined, providers: [provider('openai-chat', 'first', upstream)] });
  upstream.respond(failing(503));
  upstream.respond(answer({ wire: 'openai-chat', mode: 'buffered' }));
  const outcome = await ask(gateway, 'buffered', { model: 'openai-chat/first' });
  expectText(outcome, 'Hello there.');
});

describe('a deadline', () => {
  it('that passes during an attempt ends the request: no retry follows', async () => {
    await open({ timeouts: { request_ms: patient(1000) } });
    upstream.always(stallAfter(0, json({})));
    const response = await gateway.post('/responses', { model: 'openai-chat/m', input: 'Hello' });
    expect(response.status).toBe(408);
    expect(upstream.requests).toHaveLength(1);
  });
});

it.each([false, true])('an image generation is repeated, streamed: %s', async (streamed) => {
  const made = await paint({ width: 64, height: 64 });
  const picture = json({ created: 1, data: [{ b64_json: made.toString('base64') }] });
  gateway = await testGateway({
    catalog: { builtin: false },
    retry: { backoff_ms: 0 },
    providers: [
      {
        id: 'painter',
        wire: 'openai-images',
        base_url: upstream.url,
        api_key: 'key-of-painter',
        models: [
          { model: 'acme/painter', image: { pricing: [{ billable: 'output_image', unit: 'image', cost_usd: 0.1 }] } },
        ],
      },
    ],
  });
  upstream.respond(failing(503));
  upstream.respond(picture);
  const outcome = await draw(
    gateway,
    { model: 'acme/painter', ...(streamed && { stream: true }) },
    { headers: metadata },
  );
  expect(outcome.status).toBe(200);
  expect(upstream.requests).toHaveLength(2);
});
