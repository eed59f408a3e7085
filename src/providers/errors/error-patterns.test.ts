import { describe, expect, it } from 'vitest';
import type { GatewayError } from '../../domain/errors.ts';
import { readComplaint } from './complaint.ts';
import { errorMeanings, errorPatterns } from './error-patterns.ts';
import { seenErrors } from './seen-errors.ts';
import { findErrorPattern, readUpstreamError, readUpstreamErrorObject } from './upstream-error.ts';

const all = seenErrors.map((seen): [string, typeof seen] => [
  `${seen.provider}, ${seen.status ?? 'unknown status'}: ${readComplaint(seen.body).message}`,
  seen,
]);

describe('a pattern', () => {
  const decided = new Set(seenErrors.map(findErrorPattern));
  it.each(errorPatterns)('$id has a condition, a meaning, and an error that was seen', ({
    id,
    means,
    ...conditions
  }) => {
    expect(Object.keys(errorMeanings)).toContain(means);
    expect(Object.values(conditions).some(Boolean)).toBe(true);
    expect(decided).toContain(id);
    expect(errorPatterns.filter((other) => other.id === id)).toHaveLength(1);
  });
});

/** The status for the caller, where it is not 502. */
const statuses: Record<string, number> = {
  rate: 429,
  context: 400,
  content: 400,
  model: 404,
  overloaded: 529,
  timeout: 524,
  rejected: 400,
};

function expectMeaning(error: GatewayError, means: string): void {
  expect(error.retryable).toBe(!['context', 'content', 'rejected'].includes(means));
  expect(error.isRegional).toBe(means === 'region');
  expect(error.blamesKey).toBe(['rate', 'key', 'account'].includes(means));
  expect(error.isTransient).toBe(['rate', 'overloaded', 'timeout', 'retry'].includes(means));
  if (means !== 'account') expect(error.status).toBe(statuses[means] ?? 502);
}

describe('an error that was seen', () => {
  it.each(all)('%s', (_, { means, status = 200, body, headers = {}, source, seen }) => {
    expect(source).toMatch(/^[\w.-]+\/[\w.-]+#\d+$|^docs: \S+$|^code: \S+/);
    expect(seen).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    const error = status < 400 ? readUpstreamErrorObject(body, status) : readUpstreamError({ status, body, headers });
    expectMeaning(error, means);
    if (means === 'account') expect(error.status).toBe(status === 429 ? 429 : 502);
  });

  const bare = all.filter(([, error]) => {
    const pattern = errorPatterns.find(({ id }) => id === findErrorPattern(error));
    return pattern && !pattern.status && !error.headers;
  });
  it.each(bare)('%s (inside a stream)', (_, { means, body }) => {
    const whole = (Array.isArray(body) ? body[0] : body) as { error?: unknown };
    expectMeaning(readUpstreamErrorObject(typeof whole.error === 'object' ? whole.error : whole, 200), means);
  });
});

describe('the numbers of tokens in an error', () => {
  it.each([
    ['prompt is too long: 209353 tokens > 199999 maximum', { input: 209353, max: 199999 }],
    [
      "This model's maximum context length is 65536 tokens. However, you requested 69648 tokens (69648 in the messages, 0 in the completion).",
      { input: 69648, max: 65536 },
    ],
    ["This model's maximum context length is 8192 tokens.", { max: 8192 }],
    [
      "This model's maximum context length is 196608 tokens. However, you requested 16384 output tokens and your prompt contains at least 180225 input tokens, for a total of at least 196609 tokens.",
      { input: 196609, max: 196608 },
    ],
    ['Range of input length should be [1, 204800]', { max: 204800 }],
    ['Your input exceeds the context window of this model.', undefined],
  ])('%s', (message, tokens) => {
    expect(readUpstreamError({ status: 400, headers: {}, body: { error: { message } } }).tokens).toEqual(tokens);
    const body = { error: { message, code: 'context_length_exceeded' } };
    expect(readUpstreamError({ status: 400, headers: {}, body }).tokens).toEqual(tokens);
  });
});

describe('an error of the caller stays one', () => {
  it.each([
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    'max_tokens is too large: 32000. This model supports at most 16384 completion tokens.',
    'This model does not support image input.',
    "Invalid 'messages[1].content': string too long. Expected a string with maximum length 10485760.",
    'tools.0.custom.input_schema: JSON schema is invalid.',
  ])('%s', (message) => {
    expect(readUpstreamError({ status: 400, headers: {}, body: { error: { message } } })).toMatchObject({
      kind: 'upstream_rejected',
      retryable: false,
    });
  });
});

describe('the wait in words', () => {
  it.each([
    ['Please retry after 26 seconds.', 26],
    ['[claude/claude-opus-5] [429]: {} (reset after 2m 13s)', 133],
    ['Please retry in 29.019961092s.', 30],
    ['Please wait 42312 seconds before retrying.', 42312],
    ['Please try again in 1m2.5s.', 63],
    ['Try again in 2 minutes.', 120],
    ['5-hour usage limit reached. Resets in 3hr 56min. To continue, enable usage.', 14_160],
    ['Retry after 120ms.', 1],
    ['Try again later.', undefined],
  ])('%s', (message, seconds) => {
    expect(readUpstreamError({ status: 429, headers: {}, body: { error: { message } } }).retryAfterSeconds).toBe(
      seconds,
    );
  });

  it('may be the time of a reset in the metadata', () => {
    const headers = { 'X-RateLimit-Reset': String(Date.now() + 60_000) };
    const error = {
      message: 'Provider returned error',
      code: 429,
      metadata: { headers, raw: 'x is limited upstream' },
    };
    const read = readUpstreamError({ status: 429, headers: {}, body: { error } });
    expect(read.retryAfterSeconds).toBeGreaterThan(50);
    expect(read.message).toContain('x is limited upstream');
  });
});

describe('an error of an odd shape', () => {
  it.each([
    { detail: [{ loc: [{ toString: 1, valueOf: 1 }], msg: 'x' }] },
    { error: { message: 'x', metadata: { headers: { 'X-RateLimit-Reset': { valueOf: 1, toString: 1 } } } } },
    { error: { message: { toString: 1 }, code: { valueOf: 1 }, type: [], details: [null, 1, { reason: {} }] } },
    { errors: [null, 1], base_resp: null },
    [[[]]],
  ])('%j is an error of the provider', (body) => {
    expect(readUpstreamError({ status: 500, headers: {}, body })).toMatchObject({ kind: 'upstream_failed' });
    expect(readUpstreamErrorObject(body, 200).retryable).toBe(true);
  });
});
