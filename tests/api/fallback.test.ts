import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { htmlPage, json, resetBeforeHeaders } from '../../src/testing/scripted-responses.ts';
import { type Script, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { answer, ask, type Case, cases, complaint, openFrames, stream, type WireName } from './lab.ts';
import { expectBroken, expectFailure, expectText, type Outcome } from './outcome.ts';

const withMetadata = { 'x-router-metadata': 'enabled' };
const names = ['alpha', 'beta', 'gamma'] as const;
const failed = (status: number, headers = {}): Script => json(complaint(`Failed with ${status}.`), { status, headers });

let upstreams: ScriptedUpstream[];
let gateway: TestGateway;
beforeEach(async () => {
  upstreams = await Promise.all(names.map(() => startUpstream()));
});
afterEach(async () => {
  await gateway.close();
  await Promise.all(upstreams.map((upstream) => upstream.close()));
});

const alpha = (): ScriptedUpstream => upstreams[0]!;
const beta = (): ScriptedUpstream => upstreams[1]!;
const gamma = (): ScriptedUpstream => upstreams[2]!;
const asked = (): number[] => upstreams.map(({ requests }) => requests.length);

/** Three providers, Alpha to Gamma, with their models. */
async function open(wire: WireName, models: Record<(typeof names)[number], string[]>): Promise<void> {
  const providers = names.map((name, index) => ({
    id: name,
    name: name[0]!.toUpperCase() + name.slice(1),
    wire,
    base_url: upstreams[index]!.url,
    models: models[name].map((model) => ({ model, upstream_model: `${name}-${model}` })),
  }));
  gateway = await testGateway({ providers: providers.filter((entry) => entry.models.length > 0) });
}

/** For each case a model, at endpoints of Alpha and Beta of its own: no case changes the health of another. */
async function openEach(wire: WireName, each: readonly number[]): Promise<void> {
  const providers = each.flatMap((name) =>
    [alpha(), beta()].map((upstream, index) => ({
      id: `${names[index]}-${name}`,
      wire,
      base_url: upstream.url,
      models: [{ model: `m-${name}` }],
    })),
  );
  gateway = await testGateway({ providers });
}
const askEach = (how: Case, name: number): Promise<Outcome> =>
  askFor(how, { model: `m-${name}`, provider: { order: [`alpha-${name}`, `beta-${name}`] } });

const everywhere = { alpha: ['m'], beta: ['m'], gamma: ['m'] };
/** A fixed order by name, without a random choice. */
const askFor = ({ mode }: Case, body: object = { model: 'm' }): Promise<Outcome> =>
  ask(gateway, mode, { provider: { order: names }, ...body }, { headers: withMetadata });

describe.each(cases)('$wire, $mode', (how) => {
  const { wire } = how;

  it('falls back to the next endpoint of the model, invisibly to the client', async () => {
    await open(wire, everywhere);
    alpha().always(failed(500));
    beta().always(resetBeforeHeaders());
    gamma().always(answer(how));
    const response = expectText(await askFor(how), 'Hello there.');
    expect(response.router_metadata).toMatchObject({
      strategy: 'direct',
      attempt: 3,
      summary: 'available=3, selected=Gamma',
      attempts: [
        { provider: 'Alpha', model: 'm', status: 502 },
        { provider: 'Beta', model: 'm', status: 502 },
        { provider: 'Gamma', model: 'm', status: 200 },
      ],
      endpoints: {
        total: 3,
        available: [
          { provider: 'Alpha', model: 'm', selected: false },
          { provider: 'Beta', model: 'm', selected: false },
          { provider: 'Gamma', model: 'm', selected: true },
        ],
      },
    });
    expect(response.router_metadata?.generation_time).toBeGreaterThanOrEqual(0);
    expect(asked()).toEqual([1, 1, 1]);
  });

  it('sends each of them the same request', async () => {
    await open(wire, everywhere);
    alpha().always(failed(500));
    beta().always(answer(how));
    const input = [
      { role: 'user', content: 'Grüße – 你好' }, // no type, and several bytes per character
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'done' },
    ];
    expectText(await askFor(how, { model: 'm', input }), 'Hello there.');
    expect(alpha().requests[0]!.text).toContain('Grüße – 你好');
    const [first, second] = [alpha().requests[0]!.body, beta().requests[0]!.body] as object[];
    expect(second).toEqual({ ...first, model: 'beta-m' });
  });

  it('falls back after each status that another provider may not have', async () => {
    const statuses = [401, 402, 403, 404, 408, 429, 500, 502, 503, 504, 529, 302];
    await openEach(wire, statuses);
    for (const [index, status] of statuses.entries()) {
      alpha().always(failed(status));
      beta().always(answer(how));
      expectText(await askEach(how, status), 'Hello there.');
      expect([status, ...asked()]).toEqual([status, index + 1, index + 1, 0]);
    }
  });

  it('falls back if a provider does not have the model, and returns 404 if none has it', async () => {
    await open(wire, everywhere);
    const gone = json(complaint('The model does not exist.', { code: 'model_not_found' }), { status: 404 });
    alpha().always(gone);
    beta().always(answer(how));
    expectText(await askFor(how), 'Hello there.');
    beta().always(gone);
    gamma().always(gone);
    const { error } = expectFailure(await askFor(how), 404, 'not_found', /does not have the model.*does not exist/);
    expect(error['availability']).toMatchObject({
      code: 'model_unavailable_upstream',
      retryable: false,
      requested_models: ['m'],
      affected_providers: ['Alpha', 'Beta', 'Gamma'],
    });
    expect(error.metadata['previous_errors']).toHaveLength(2);
  });

  it('reports an endpoint that may recover rather than one without the model', async () => {
    await open(wire, everywhere);
    alpha().always(failed(503));
    const gone = json(complaint('No such model.'), { status: 404 });
    beta().always(gone);
    gamma().always(gone);
    const { error } = expectFailure(await askFor(how), 529, 'provider_overloaded');
    expect(error['availability']).toMatchObject({ code: 'temporarily_unavailable', retryable: true });
    expect(error.metadata['previous_errors']).toMatchObject([
      { provider: 'Beta', status: 404 },
      { provider: 'Gamma', status: 404 },
    ]);
  });

  it('falls back after each body that is no response', async () => {
    const bodies: [string, Script][] = [
      ['an HTML page', htmlPage(200)],
      ['an empty object', json({})],
      ['an error inside a 200', json(complaint('No.', { code: 500 }))],
      ['an error as first frame', stream(wire, [complaint('No.', { code: 429 })])],
      ['a stream of nothing', stream(wire, [], { done: true })],
    ];
    await openEach(wire, [...bodies.keys()]);
    for (const [index, [name, script]] of bodies.entries()) {
      alpha().always(script);
      beta().always(answer(how));
      expectText(await askEach(how, index), 'Hello there.');
      expect([name, ...asked()]).toEqual([name, index + 1, index + 1, 0]);
    }
  });

  it('falls back if the connection is rejected', async () => {
    await open(wire, everywhere);
    await alpha().down();
    beta().always(answer(how));
    expectText(await askFor(how), 'Hello there.');
    expect(asked()).toEqual([0, 1, 0]);
  });

  it('always calls the first provider first', async () => {
    await open(wire, everywhere);
    for (const upstream of upstreams) upstream.always(answer(how));
    await askFor(how);
    await askFor(how);
    expect(asked()).toEqual([2, 0, 0]);
  });

  it('calls no other endpoint of a model that rejected the request', async () => {
    await open(wire, everywhere);
    for (const upstream of upstreams) upstream.always(failed(400));
    const envelope = expectFailure(await askFor(how), 400, 'invalid_request', /Failed with 400/);
    expect(asked()).toEqual([1, 0, 0]);
    expect(envelope.router_metadata).toMatchObject({ attempt: 1, attempts: [{ provider: 'Alpha', status: 400 }] });
    expect(envelope.error.metadata).not.toHaveProperty('previous_errors');
  });

  it.each([400, 413, 422])('calls the next model if one rejected the request with %i', async (status) => {
    await open(wire, { alpha: ['m'], beta: ['m'], gamma: ['n'] });
    for (const upstream of [alpha(), beta()]) upstream.always(failed(status));
    gamma().always(answer(how));
    const response = expectText(await askFor(how, { model: 'm', models: ['n'] }), 'Hello there.');
    expect(response.model).toBe('n');
    expect(asked()).toEqual([1, 0, 1]);
    expect(response.router_metadata).toMatchObject({ requested: 'm', strategy: 'fallback', attempt: 2 });
  });

  it('calls all endpoints of a model before the next model, each model once', async () => {
    await open(wire, { alpha: ['n', 'm'], beta: ['m'], gamma: ['m'] });
    for (const upstream of upstreams) upstream.always(failed(500));
    const envelope = expectFailure(await askFor(how, { model: 'm', models: ['n', 'm'] }), 502, 'provider_unavailable');
    expect(envelope.router_metadata).toMatchObject({
      attempt: 4,
      attempts: [
        { provider: 'Alpha', model: 'm' },
        { provider: 'Beta', model: 'm' },
        { provider: 'Gamma', model: 'm' },
        { provider: 'Alpha', model: 'n' },
      ],
    });
    expect(alpha().requests.map(({ body }) => (body as { model: string }).model)).toEqual(['alpha-m', 'alpha-n']);
  });

  it('returns the last failure, and the earlier ones', async () => {
    await open(wire, everywhere);
    alpha().always(json(complaint('Slow.', { code: 'slow_down' }), { status: 429, headers: { 'retry-after': '9' } }));
    beta().always(failed(401));
    gamma().always(failed(503));
    const outcome = await askFor(how);
    const envelope = expectFailure(outcome, 529, 'provider_overloaded', /Failed with 503/);
    expect(envelope.error.metadata['previous_errors']).toEqual([
      { provider: 'Alpha', code: 'slow_down', status: 429 },
      { provider: 'Beta', code: 'provider_unavailable', status: 502 },
    ]);
    expect(outcome.headers.get('retry-after')).toBe('9');
    expect(envelope.router_metadata).toMatchObject({ attempt: 3, summary: 'available=3' });
    const { available } = envelope.router_metadata?.['endpoints'] as { available: { selected: boolean }[] };
    expect(available.map(({ selected }) => selected)).toEqual([false, false, false]);
  });

  it('returns 429 with the shortest wait if all return 429', async () => {
    await open(wire, everywhere);
    for (const [index, seconds] of [30, 4, 60].entries()) {
      upstreams[index]!.always(failed(429, { 'retry-after': String(seconds) }));
    }
    const outcome = await askFor(how);
    expectFailure(outcome, 429, 'rate_limit_exceeded');
    expect(outcome.headers.get('retry-after')).toBe('4');
  });

  it('keeps the wait of the last 429 if others failed differently', async () => {
    await open(wire, everywhere);
    alpha().always(failed(500));
    beta().always(failed(500));
    gamma().always(failed(429, { 'retry-after': '12' }));
    const outcome = await askFor(how);
    expectFailure(outcome, 429, 'rate_limit_exceeded');
    expect(outcome.headers.get('retry-after')).toBe('12');
  });

  it('finds wildcard endpoints beside exact ones, with the matched name', async () => {
    await open(wire, { alpha: ['acme/*'], beta: ['acme/one'], gamma: ['*'] });
    for (const upstream of [alpha(), beta()]) upstream.always(failed(500));
    gamma().always(answer(how));
    const response = expectText(await askFor(how, { model: 'acme/one' }), 'Hello there.');
    expect(response.model).toBe('acme/one');
    expect(response.router_metadata?.attempts?.map(({ provider }) => provider)).toEqual(['Alpha', 'Beta', 'Gamma']);
    const sent = upstreams.map(({ requests }) => (requests[0]?.body as { model: string }).model);
    expect(sent).toEqual(['alpha-acme/one', 'beta-acme/one', 'gamma-acme/one']);
  });

  it('rejects a model without a provider, also among fallbacks, before any call', async () => {
    await open(wire, everywhere);
    for (const body of [{ model: 'x/none' }, { model: 'm', models: ['x/none'] }]) {
      const { error } = expectFailure(
        await askFor(how, body),
        400,
        'invalid_request',
        /x\/none is not a valid model ID/,
      );
      expect(error['availability']).toMatchObject({ code: 'model_not_found', requested_models: ['x/none'] });
    }
    expect(asked()).toEqual([0, 0, 0]);
  });

  it('falls back after the headers as long as the client has received nothing', async () => {
    await open(wire, everywhere);
    const unseen = openFrames(wire, []).slice(0, wire === 'openai-chat' ? 1 : 2);
    alpha().always({ ...stream(wire, unseen, { done: false }), end: 'reset' });
    beta().always(answer(how));
    const response = expectText(await askFor(how), 'Hello there.');
    expect(response.router_metadata?.attempt).toBe(2);
  });
});

describe.each(cases)('$wire, $mode, a provider that dies after the first words of its stream', (how) => {
  const { wire, mode } = how;

  it(mode === 'buffered' ? 'is replaced by the next' : 'is not replaced: the client has seen its words', async () => {
    await open(wire, everywhere);
    alpha().always({ ...stream(wire, openFrames(wire, ['Hel', 'lo']), { done: false }), end: 'reset' });
    beta().always(answer(how, 'Second.'));
    const outcome = await askFor(how);
    if (mode === 'buffered') {
      expectText(outcome, 'Second.');
      return;
    }
    const response = expectBroken(outcome, 'provider_unavailable', 'Hello');
    expect(asked()).toEqual([1, 0, 0]);
    expect(response.router_metadata).toMatchObject({
      attempt: 1,
      attempts: [{ provider: 'Alpha', status: 502 }],
      summary: 'available=3',
    });
    expect(response.router_metadata?.endpoints.available.some(({ selected }) => selected)).toBe(false);
  });
});

describe.each(cases)('$wire, $mode, a client that disconnects', (how) => {
  it('stops the fallback', async () => {
    await open(how.wire, everywhere);
    const client = new AbortController();
    alpha().always(async (request) => {
      client.abort();
      await request.closed;
      return json({});
    });
    await expect(
      gateway.post(
        '/responses',
        { model: 'm', input: 'x', stream: how.mode === 'streamed', provider: { order: names } },
        { signal: client.signal },
      ),
    ).rejects.toThrow();
    expect(await (await alpha().nextRequest()).closed).toBe('aborted');
    alpha().always(answer(how));
    expectText(await askFor(how), 'Hello there.'); // the first run has ended by now
    expect(asked()).toEqual([2, 0, 0]);
  });
});

describe.each(cases)('$wire, $mode, a kept-alive connection', (how) => {
  it('that was closed meanwhile is replaced once, silently', async () => {
    await open(how.wire, everywhere);
    alpha().always(answer(how));
    expectText(await askFor(how), 'Hello there.');
    alpha().respond(resetBeforeHeaders());
    const response = expectText(await askFor(how), 'Hello there.');
    expect(response.router_metadata?.attempt).toBe(1);
    expect(alpha().requests).toHaveLength(3);
    expect(alpha().connectionCount).toBe(2);
  });

  it('is not replaced twice', async () => {
    await open(how.wire, everywhere);
    alpha().respond(answer(how));
    await askFor(how);
    alpha().always(resetBeforeHeaders());
    beta().always(answer(how));
    const response = expectText(await askFor(how), 'Hello there.');
    expect(response.router_metadata?.attempt).toBe(2);
    expect(asked()).toEqual([3, 1, 0]);
  });

  it('differs from a new connection, which is not retried', async () => {
    await open(how.wire, everywhere);
    alpha().always(resetBeforeHeaders());
    beta().always(answer(how));
    expectText(await askFor(how), 'Hello there.');
    expect(asked()).toEqual([1, 1, 0]);
  });
});
