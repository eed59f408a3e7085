import { expect, it } from 'vitest';
import { createAvailability, GatewayError, type GatewayErrorOptions } from '../domain/errors.ts';
import { copyError } from './copy-error.ts';

const options: Required<GatewayErrorOptions> = {
  metadata: { param: 'model' },
  availability: createAvailability('capacity_exhausted', ['acme/one']),
  errorType: 'invalid_image',
  retryable: true,
  isTransient: true,
  retryAfterSeconds: 7,
  rateLimit: { limit: 1, remaining: 0, resetAtMs: 60_000 },
  blamesKey: true,
  isRegional: true,
  incompleteReason: 'content_filter',
  providerCode: 'busy',
  loggedMessage: 'Too much of it.',
  tokens: { input: 9, max: 8 },
  lesson: { name: 'top_p', settings: () => ({}) },
  cause: new Error('The provider said so.'),
};

it('keeps all of an error but its message', () => {
  const copy = copyError(new GatewayError('rate_limited', 'Too much.', options), 'Far too much.');
  expect(copy).toMatchObject({ kind: 'rate_limited', status: 429, message: 'Far too much.', ...options });
});

it('changes the given fields, also to undefined', () => {
  const error = new GatewayError('rate_limited', 'Too much.', options);
  const copy = copyError(error, error.message, { retryAfterSeconds: 9, cause: undefined });
  const { cause: _, ...kept } = options;
  expect(copy).toMatchObject({ ...kept, retryAfterSeconds: 9 });
  expect(copy.cause).toBeUndefined();
});
