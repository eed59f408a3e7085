import type { JsonSchema } from './schema-writer.ts';

/** @see docs/reference/errors.md */
const descriptions: Readonly<Record<number, string>> = {
  400: 'The request is invalid.',
  401: 'The key is missing, invalid, disabled or expired.',
  402: 'Credits, the limit of the key or a budget are used up.',
  403: 'The key lacks the permission, or a guardrail forbids the request.',
  404: 'It does not exist, or no endpoint can serve the request.',
  405: 'The method is not supported: the path has no action.',
  408: 'A deadline passed.',
  409: 'The name is taken, or the state of the object forbids the change.',
  410: 'The run has ended.',
  413: 'The body is too large.',
  415: 'The body is not JSON by its content type.',
  416: 'The range is after the end of the file.',
  422: 'The body contradicts itself.',
  429: 'A limit was reached.',
  500: 'The gateway failed.',
  502: 'The provider, or a service of the gateway, failed.',
  503: 'The gateway cannot serve the request now.',
  504: 'The intern was too slow.',
  524: 'The provider was too slow.',
  529: 'The provider is overloaded.',
};

/** @throws if the status has no description */
export function describeStatus(status: number): string {
  const description = descriptions[status];
  if (description === undefined) throw new Error(`The status ${status} has no description.`);
  return description;
}

const text = (description: string) => ({ description, schema: { type: 'string' } });
const integer = (description: string) => ({ description, schema: { type: 'integer' } });

const everyHeader = {
  'X-Request-Id': text('The id of the request: that of the client, or a new one.'),
  'X-Generation-Id': text('The id under which the request is recorded.'),
};
const rateLimitHeaders = {
  'X-RateLimit-Limit': integer('The limit of this gateway that was reached.'),
  'X-RateLimit-Remaining': integer('The rest of the limit.'),
  'X-RateLimit-Reset': integer('When it resets, in Unix milliseconds.'),
};
const droppedFields = {
  'X-Router-Dropped-Fields': text('Request fields that had no effect, with commas between them. Absent: none.'),
};
const retryAfter = { 'Retry-After': integer('Seconds, if a time is known.') };

/** Returns the headers of a response. @param status of an error */
export const writeHeaders = (isRun: boolean, status = 200): JsonSchema => ({
  ...everyHeader,
  ...(isRun && droppedFields),
  ...([429, 503, 529].includes(status) && retryAfter),
  ...(status === 429 && rateLimitHeaders),
});
