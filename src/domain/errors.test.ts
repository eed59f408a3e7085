import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  asGatewayError,
  availabilityCodes,
  createAvailability,
  errorKinds,
  GatewayError,
  invalidRequest,
  responseErrorCode,
} from './errors.ts';

const page = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8');

it('is the table of docs/reference/errors.md, row by row', () => {
  const rows = Object.entries(errorKinds).map(
    ([kind, { status, errorType, says }]) => `| ${status} | \`${errorType}\` | ${kind} | ${says} |`,
  );
  expect(page.split('\n').filter((line) => /^\| \d{3} \| `/.test(line))).toEqual(rows);
});

it.each(availabilityCodes)('has a heading for the docs_url of %s', (code) => {
  const [url, heading] = createAvailability(code, []).docs_url.split('#');
  expect(url).toBe('https://headgate.dev/docs/reference/errors');
  expect(page.split('\n')).toContain(`## ${heading}`);
});

it('names the first problem in the message and all of them in the metadata', () => {
  const error = invalidRequest([
    { path: 'user', message: 'too long' },
    { path: 'input[0]', message: 'no type' },
  ]);
  expect(error).toMatchObject({ status: 400, errorType: 'invalid_request' });
  expect(error.message).toBe('user: too long (and 1 more: see error.metadata.issues)');
  expect(error.metadata['issues']).toHaveLength(2);
});

it('turns anything thrown into a 500 that leaks nothing', () => {
  const error = asGatewayError(new TypeError('secret sk-123 is not iterable'));
  expect(error).toMatchObject({ kind: 'internal', status: 500, errorType: 'server' });
  expect(error.message).not.toContain('sk-123');
  expect(error.cause).toBeInstanceOf(TypeError);
});

it('leaves a GatewayError as it is', () => {
  const error = new GatewayError('not_found', 'gone');
  expect(asGatewayError(error)).toBe(error);
});

it.each([
  ['rate_limit_exceeded', 'rate_limit_exceeded'],
  ['context_length_exceeded', 'invalid_prompt'],
  ['invalid_request', 'invalid_prompt'],
  ['content_policy_violation', 'image_content_policy_violation'],
  ['image_too_large', 'image_too_large'],
  ['unsupported_image_format', 'unsupported_image_media_type'],
  ['image_download_failed', 'failed_to_download_image'],
  ['image_not_found', 'image_file_not_found'],
  ['provider_unavailable', 'server_error'],
])('maps %s to %s in a failed response object', (errorType, code) => {
  expect(responseErrorCode(errorType)).toBe(code);
});
