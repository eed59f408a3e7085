import { describe, expect, it } from 'vitest';
import { readUpstreamError, readUpstreamErrorObject } from './upstream-error.ts';

const now = Date.parse('2026-11-20T12:00:00Z');
const read = (status: number, body: unknown, headers: Record<string, string | string[]> = {}) =>
  readUpstreamError({ status, body, headers }, now);

describe('what a status means', () => {
  it.each([
    [302, 'upstream_failed', true],
    [400, 'upstream_rejected', false],
    [401, 'upstream_key_rejected', true],
    [402, 'upstream_failed', true],
    [403, 'upstream_key_rejected', true],
    [404, 'upstream_path_missing', true],
    [405, 'upstream_path_missing', true],
    [408, 'upstream_timeout', true],
    [413, 'payload_too_large', false],
    [422, 'unprocessable', false],
    [429, 'rate_limited', true],
    [500, 'upstream_failed', true],
    [502, 'upstream_failed', true],
    [503, 'upstream_overloaded', true],
    [504, 'upstream_timeout', true],
    [529, 'upstream_overloaded', true],
  ])('%i is %s, retryable: %s', (status, kind, retryable) => {
    expect(read(status, { error: { message: 'No.' } })).toMatchObject({ kind, retryable });
  });

  it.each([
    [
      'a key that is wrong',
      400,
      { message: 'API key not valid. Please pass a valid API key.' },
      'upstream_key_rejected',
    ],
    ['a country that is not served', 403, { code: 'unsupported_country_region_territory' }, 'upstream_failed'],
    ['a context that is full', 400, { code: 'context_length_exceeded' }, 'context_length_exceeded'],
    ['the same in words', 400, { message: 'the maximum context length is 4096' }, 'context_length_exceeded'],
    ['the same as a fault of the server', 500, { message: 'exceeds the context size' }, 'context_length_exceeded'],
    ['a model that is not there', 404, { message: 'The model `x` does not exist.' }, 'model_unavailable'],
    ['a model that is not ours', 403, { message: 'No.', code: 'model_not_found' }, 'model_unavailable'],
    ['a model under another status', 400, { code: 'ModelNotFound', message: 'No.' }, 'model_unavailable'],
    ['a path that is not there', 404, { message: 'Invalid URL (POST /v1/x)' }, 'upstream_path_missing'],
    [
      'an item that is not there',
      404,
      { message: "Item with id 'rs_1' not found.", param: 'input' },
      'upstream_rejected',
    ],
    ['a content filter', 400, { code: 'content_filter' }, 'content_policy'],
    ['a moderation', 403, { message: 'x', metadata: { reasons: ['a'], flagged_input: 'b' } }, 'content_policy'],
    ['an empty purse', 429, { code: 'insufficient_quota' }, 'rate_limited'],
    ['a request beyond the tokens of a minute', 413, { code: 'rate_limit_exceeded' }, 'rate_limited'],
    ['an overload under another status', 429, { type: 'engine_overloaded_error' }, 'upstream_overloaded'],
    ['an overload in words', 500, { message: 'The server is overloaded.' }, 'upstream_overloaded'],
  ])('%s is derived from the error itself', (_, status, error, kind) => {
    expect(read(status, { error })).toMatchObject({ kind });
  });

  it.each([
    [{ code: 502 }, 'upstream_failed'],
    [{ code: '429' }, 'rate_limited'],
    [{ type: 'server_error' }, 'upstream_failed'],
    [{ type: 'invalid_request_error' }, 'upstream_rejected'],
    [{ code: 'context_length_exceeded' }, 'context_length_exceeded'],
    [{ type: 'overloaded_error' }, 'upstream_overloaded'],
    [{ code: 'invalid_api_key', type: 'invalid_request_error' }, 'upstream_key_rejected'],
    [{ code: 'request_timeout' }, 'upstream_timeout'],
    [{ message: 'something' }, 'upstream_failed'],
    [null, 'upstream_failed'],
  ])('inside a 200 response %j is %s', (error, kind) => {
    expect(readUpstreamErrorObject(error, 200)).toMatchObject({ kind });
  });
});

describe('the message', () => {
  it.each([
    [{ code: 'server_error', message: 'Oh.' }, 'The provider failed: Oh.'],
    [{ type: 'overloaded_error', message: 'Oh.' }, 'The provider is overloaded: Oh.'],
    [{ code: 429, message: 'Oh.' }, 'The provider limits the rate of requests (status 429): Oh.'],
    [{ code: '500', message: 'Oh.' }, 'The provider failed (status 500): Oh.'],
    [{}, 'The provider failed.'],
  ])('names a status inside a 200 response only if the error does: %j', (error, message) => {
    expect(readUpstreamErrorObject(error, 200).message).toBe(message);
  });

  it.each([
    [{ error: { message: 'Odd temperature.' } }, 'Odd temperature.'],
    [{ error: 'Odd temperature.' }, 'Odd temperature.'],
    [[{ error: { message: 'Odd temperature.' } }], 'Odd temperature.'],
    [{ object: 'error', message: 'Odd temperature.', code: 40 }, 'Odd temperature.'],
    [{ detail: [{ loc: ['body', 'top_p'], msg: 'too large' }] }, 'body.top_p: too large'],
    [{ detail: { error: 'Not today.' } }, 'Not today.'],
    [{ object: 'error', message: { detail: [{ loc: ['body'], msg: 'no' }, { msg: 'never' }] } }, 'body: no; never'],
  ])('keeps the words of the provider: %j', (body, words) => {
    expect(read(400, body).message).toBe(`The provider rejected the request (status 400): ${words}`);
  });

  it('keeps nothing of a page', () => {
    expect(read(502, '<html><h1>secret host 10.1.2.3</h1></html>').message).toBe('The provider failed (status 502).');
  });

  it('is at most 500 characters of the provider', () => {
    expect(read(400, { error: { message: 'na '.repeat(900) } }).message.length).toBeLessThan(560);
  });

  it.each([
    'Incorrect API key provided: sk-proj-a1b2****c3d4.',
    'Bad header Bearer eyJhbGciOi.abc',
    'Unknown token 0a1b2c3d4e5f60718293a4b5c6d7e8f9',
    'Limit reached in organization org-Qw3rTy7uIoP9aSdF',
    'gsk_Zz99yy88xx77 is not known',
  ])('shows no key: %s', (message) => {
    const shown = read(401, { error: { message, code: message } });
    for (const secret of ['a1b2', 'eyJhbGci', '0a1b2c3d', 'Qw3rTy', 'Zz99']) {
      expect(shown.message).not.toContain(secret);
      expect(shown.providerCode).not.toContain(secret);
    }
    expect(shown.message).toContain('[masked]');
  });

  it('leaves the names of models alone', () => {
    const message = 'accounts/acme/models/llama-v3p1-405b-instruct-long-context was not found';
    expect(read(404, { error: { message } }).message).toContain(message);
  });

  it('comes with the code of the provider, or else the type', () => {
    expect(read(400, { error: { code: 'invalid_value', type: 't' } }).providerCode).toBe('invalid_value');
    expect(read(400, { error: { code: null, type: 'invalid_request_error' } }).providerCode).toBe(
      'invalid_request_error',
    );
    expect(read(400, { error: { code: 3505 } }).providerCode).toBe(3505);
  });
});

describe('the time to wait, in whole seconds', () => {
  it.each([
    [{ 'retry-after': '20' }, 20],
    [{ 'retry-after': '0.5' }, 1],
    [{ 'retry-after': 'Fri, 20 Nov 2026 12:00:30 GMT' }, 30],
    [{ 'retry-after': 'Fri, 20 Nov 2026 11:00:00 GMT' }, 0],
    [{ 'retry-after-ms': '1200', 'retry-after': '9' }, 2],
    [{ 'x-ratelimit-reset-tokens': '6m0s', 'x-ratelimit-reset-requests': '20ms' }, 360],
    [
      {
        'x-ratelimit-reset-tokens': '6m0s',
        'x-ratelimit-reset-requests': '2.5s',
        'x-ratelimit-remaining-requests': '0',
      },
      3,
    ],
    [{ 'x-ratelimit-reset': String(now + 4000) }, 4],
    [{ 'x-ratelimit-reset': String(now / 1000 + 5) }, 5],
    [{ 'x-ratelimit-reset': 'soon' }, undefined],
    [{}, undefined],
  ])('%j is %s', (headers, seconds) => {
    expect(read(429, { error: {} }, headers as Record<string, string>).retryAfterSeconds).toBe(seconds);
  });

  it('is taken from the message when there are no headers, as in a stream', () => {
    const error = { code: 'rate_limit_exceeded', message: 'Please try again in 1m2.5s.' };
    expect(readUpstreamErrorObject(error, 200).retryAfterSeconds).toBe(63);
  });

  it.each([1, 1000])('is taken from a time in the error, in 1/%d s', (unit) => {
    const error = { type: 'usage_limit_reached', resets_at: (Math.floor(Date.now() / 1000) + 4000) * unit };
    const { retryAfterSeconds } = read(429, { error });
    expect(retryAfterSeconds).toBeGreaterThan(3000);
    expect(retryAfterSeconds).toBeLessThanOrEqual(4000);
  });
});
