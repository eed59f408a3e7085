import type { UpstreamResponse } from '../../providers/transport.ts';
import type { Wire } from '../../providers/wire.ts';
import type { Attempt } from '../run/attempt.ts';

/** Headers in which providers and the proxies in front of them return the id of a request. The most exact comes first. */
const idHeaders = ['x-request-id', 'request-id', 'x-amzn-requestid', 'apim-request-id', 'x-goog-request-id', 'cf-ray'];

const isId = (value: unknown): value is string => typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value);

/** Records the service tier that a header names, for a response whose body does not. */
export function noteTier(attempt: Attempt, { headers }: UpstreamResponse, { tierHeader }: Wire): void {
  const tier = tierHeader === undefined ? undefined : headers[tierHeader];
  if (typeof tier === 'string' && /^[\w-]{1,60}$/.test(tier)) {
    const word = tier.toLowerCase();
    attempt.upstreamTier = word === 'standard' ? 'default' : word;
  }
}

/** Records the provider's id of a request, which its support asks for. */
export function noteRequestId(attempt: Attempt, { headers }: UpstreamResponse): void {
  attempt.upstreamRequestId = idHeaders.map((name) => headers[name]).find(isId);
}
