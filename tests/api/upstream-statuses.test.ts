import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytes, htmlPage, json, redirect } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { answer, ask, cases, complaint, type Lab, openFrames, openLab, provider, providerKey, stream } from './lab.ts';
import { expectBroken, expectFailure, expectText } from './outcome.ts';

let lab: Lab;
let elsewhere: ScriptedUpstream;
beforeAll(async () => {
  [lab, elsewhere] = await Promise.all([openLab(), startUpstream()]);
  elsewhere.always(json({ output: [] }));
});
afterAll(async () => {
  await lab.close();
  await elsewhere.close();
});

/** Status of the upstream → status and `error_type` of ours. @see docs/reference/errors.md#who-is-responsible */
const statuses: [number, number, string][] = [
  [400, 400, 'invalid_request'],
  [401, 502, 'provider_unavailable'],
  [402, 502, 'provider_unavailable'],
  [403, 502, 'provider_unavailable'],
  [404, 502, 'provider_unavailable'],
  [408, 524, 'timeout'],
  [413, 413, 'payload_too_large'],
  [422, 422, 'unprocessable'],
  [429, 429, 'rate_limit_exceeded'],
  [500, 502, 'provider_unavailable'],
  [502, 502, 'provider_unavailable'],
  [503, 529, 'provider_overloaded'],
  [504, 524, 'timeout'],
  [529, 529, 'provider_overloaded'],
];

describe.each(cases)('$wire, $mode', (how) => {
  it.each(statuses)('turns a %i of the provider into %i %s, with its words', async (theirs, ours, errorType) => {
    lab.upstream.always(json(complaint('Your prompt is cursed.'), { status: theirs }));
    const before = lab.upstream.requests.length;
    const { error } = expectFailure(await lab.ask(how), ours, errorType);
    expect(error.message).toContain('Your prompt is cursed.');
    expect(lab.upstream.requests.length - before, 'it is asked once').toBe(1);
  });

  // https://github.com/aaif-goose/goose/pull/4175
  it.each(statuses)('turns a %i that is a line of text into %i, with its words', async (theirs, ours) => {
    lab.upstream.always(
      bytes('Your prompt is cursed\n', { status: theirs, headers: { 'content-type': 'text/plain' } }),
    );
    expect(expectFailure(await lab.ask(how), ours, expect.anything()).error.message).toContain('Your prompt is cursed');
  });

  it.each(statuses)('turns a %i that is several lines of text into %i without repeating them', async (theirs, ours) => {
    lab.upstream.always(
      bytes('Traceback:\n  at cursed\n', { status: theirs, headers: { 'content-type': 'text/plain' } }),
    );
    const outcome = await lab.ask(how);
    expect([outcome.status, outcome.text]).toEqual([ours, expect.not.stringContaining('cursed')]);
  });

  // https://github.com/brightwave-inc/tidebreak/issues/1892, https://github.com/vercel/ai/issues/18303
  it.each([
    { error: 'invalid_request', error_description: 'Your prompt is cursed.' },
    { error: { errors: { message: 'Your prompt is cursed.' } } },
    { error: { errors: [{ message: 'Your prompt is cursed.' }] } },
    { error_type: 'validation_error', error_message: 'Your prompt is cursed.' },
    { error_type: 'validation_error', error_message: JSON.stringify(complaint('Your prompt is cursed.')) },
    {
      error: {
        message: 'Stream error occurred',
        value: { error_message: JSON.stringify(complaint('Your prompt is cursed.')) },
      },
    },
  ])('finds the words in %j', async (body) => {
    lab.upstream.always(json(body, { status: 400 }));
    expect(expectFailure(await lab.ask(how), 400, 'invalid_request').error.message).toContain('Your prompt is cursed.');
    lab.upstream.always(stream(how.wire, [body], { done: false }));
    expect((await lab.ask(how)).text).toContain('Your prompt is cursed.');
  });

  it.each(statuses)('turns a %i that is an HTML page into %i without repeating the page', async (theirs, ours) => {
    lab.upstream.always(htmlPage(theirs));
    const outcome = await lab.ask(how);
    expect(outcome.status).toBe(ours);
    expect(outcome.text).not.toContain('<');
  });

  it.each(statuses)('never shows the key that a %i repeats', async (theirs, ours) => {
    const words = `Incorrect API key provided: ${providerKey}, Bearer ${providerKey}.`;
    lab.upstream.always(json(complaint(words, { code: providerKey, type: providerKey }), { status: theirs }));
    const outcome = await lab.ask(how);
    // A 400 that blames a key blames ours.
    expect(outcome.status).toBe(theirs === 400 ? 502 : ours);
    expect(outcome.text).not.toContain('1234567890');
  });

  it.each([429, 503, 529])('returns the seconds that a %i asks to wait', async (status) => {
    lab.upstream.always(json(complaint('Slow down.'), { status, headers: { 'retry-after': '17' } }));
    expect((await lab.ask(how)).headers.get('retry-after')).toBe('17');
  });

  it.each([429, 503, 529])('turns the date until which a %i asks to wait into seconds', async (status) => {
    const date = new Date(Date.now() + 30_000).toUTCString();
    lab.upstream.always(json(complaint('Slow down.'), { status, headers: { 'retry-after': date } }));
    const seconds = Number((await lab.ask(how)).headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(25);
    expect(seconds).toBeLessThanOrEqual(30);
  });

  it.each([401, 403, 500])('returns no Retry-After for a %i', async (status) => {
    lab.upstream.always(json(complaint('No.'), { status, headers: { 'retry-after': '17' } }));
    expect((await lab.ask(how)).headers.get('retry-after')).toBeNull();
  });

  it('returns the code of the provider', async () => {
    lab.upstream.always(json(complaint('Bad size.', { code: 'bad_size' }), { status: 400 }));
    const { error } = expectFailure(await lab.ask(how), 400, 'invalid_request');
    expect(error.metadata['provider_code']).toBe('bad_size');
  });

  it.each([301, 302, 303, 307, 308])('follows no %i, neither to the same origin nor to another', async (status) => {
    for (const to of [`${lab.upstream.url}/other`, `${elsewhere.url}/responses`]) {
      lab.upstream.always(redirect(to, status));
      const before = lab.upstream.requests.length;
      expectFailure(await lab.ask(how), 502, 'provider_unavailable', /redirects are not followed/);
      expect(lab.upstream.requests.length - before).toBe(1);
    }
    expect(elsewhere.requests).toEqual([]);
    expect(elsewhere.connectionCount).toBe(0);
  });
});

/** Error objects inside a 200 → status and `error_type`. */
const inside: [object, number, string][] = [
  [{ code: 'server_error' }, 502, 'provider_unavailable'],
  [{ code: 502 }, 502, 'provider_unavailable'],
  [{ code: 429 }, 429, 'rate_limit_exceeded'],
  [{ code: 'rate_limit_exceeded' }, 429, 'rate_limit_exceeded'],
  [{ type: 'overloaded_error' }, 529, 'provider_overloaded'],
  [{ code: 'invalid_api_key' }, 502, 'provider_unavailable'],
  [{ type: 'invalid_request_error' }, 400, 'invalid_request'],
  [{}, 502, 'provider_unavailable'],
];

describe.each(cases)('$wire, $mode, an error object inside a 200', (how) => {
  const { wire, mode } = how;

  it.each(inside)('%j as a whole body is %i %s', async (fields, status, errorType) => {
    lab.upstream.always(json(complaint(`Gone: ${providerKey}`, fields)));
    const outcome = await lab.ask(how);
    expectFailure(outcome, status, errorType, /Gone/);
    expect(outcome.text).not.toContain('1234567890');
  });

  it.each(inside)('%j as the first frame is %i %s', async (fields, status, errorType) => {
    lab.upstream.always(stream(wire, [complaint(`Gone: ${providerKey}`, fields)]));
    const outcome = await lab.ask(how);
    expectFailure(outcome, status, errorType, /Gone/);
    expect(outcome.text).not.toContain('1234567890');
  });

  it.each(inside)('%j after the first words ends the response, as %i %s', async (fields, status, errorType) => {
    const frames = [...openFrames(wire, ['Hel', 'lo']), complaint(`Gone: ${providerKey}`, fields)];
    lab.upstream.always(stream(wire, frames));
    const outcome = await lab.ask(how);
    if (mode === 'buffered') expectFailure(outcome, status, errorType, /Gone/);
    else expectBroken(outcome, errorType, 'Hello');
    expect(outcome.text).not.toContain('1234567890');
  });

  it('serves again on the same connection after an error', async () => {
    lab.upstream.always(json(complaint('No.'), { status: 500 }));
    await lab.ask(how);
    const before = lab.upstream.connectionCount;
    lab.upstream.always(answer(how));
    expectText(await lab.ask(how), 'Hello there.');
    expect(lab.upstream.connectionCount).toBe(before);
  });
});

// The search for secrets in them once blocked the process for minutes.
it.each([
  ['letters', 'A'],
  ['beginnings of keys', 'sk-'],
  ['signs', '_='],
])('accepts a message of 900,000 %s, as long as a request that it may repeat', async (_what, piece) => {
  lab.upstream.always(json(complaint(piece.repeat(900_000 / piece.length)), { status: 400 }));
  const { error } = expectFailure(await lab.ask({ wire: 'openai-chat', mode: 'buffered' }), 400, 'invalid_request');
  expect(error.message.length).toBeLessThan(600);
});

describe('a key of no known shape', () => {
  it.each(cases)('is not shown either ($wire, $mode)', async (how) => {
    const key = 'open sesame';
    const other = await openLab({
      providers: [
        {
          id: 'p',
          wire: how.wire,
          base_url: lab.upstream.url,
          api_key: ['spare', key],
          headers: { 'x-gate': 'a long gate pass' },
          models: [{ model: 'm' }],
        },
      ],
    });
    lab.upstream.always(json(complaint(`Not "${key}" with a long gate pass.`), { status: 403 }));
    const outcome = await other.ask(how, { model: 'm' });
    await other.close();
    const { error } = expectFailure(outcome, 502, 'provider_unavailable');
    expect(error.message).toContain('Not "[masked]" with [masked].');
  });
});

describe('a token within a configured header', () => {
  const token = 'a-token-of-ours-only';
  let gateway: TestGateway;
  beforeAll(async () => {
    const headers = { authorization: `Bearer ${token}` };
    gateway = await testGateway({ providers: [provider('openai-chat', 'own', lab.upstream, { headers })] });
  });
  afterAll(() => gateway.close());

  it.each([
    'buffered',
    'streamed',
  ] as const)('is never shown when the provider repeats it, %s, nor what the cut of a long message leaves of it', async (mode) => {
    for (const words of [`No ${token} here.`, `${'wo '.repeat(159)} is wrong: ${token}.`]) {
      const error = complaint(words);
      const frames = [...openFrames('openai-chat', ['Hel', 'lo']), error];
      for (const answer of [json(error, { status: 400 }), json(error), stream('openai-chat', frames)]) {
        lab.upstream.always(answer);
        const { text } = await ask(gateway, mode, { model: 'openai-chat/own' });
        expect(text).toContain('[masked]');
        expect(text).not.toContain(token.slice(0, 8));
      }
    }
  });
});
