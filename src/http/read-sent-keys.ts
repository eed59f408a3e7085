import type { FastifyRequest } from 'fastify';
import { readQueryKey } from './gemini-paths.ts';

/** Headers in which clients of Anthropic, Azure and Google send a key. */
const keyHeaders = ['x-api-key', 'api-key', 'x-goog-api-key'] as const;

/** Returns all keys of a request in the form of `authorization`. The usual header is the first. */
export function readSentKeys({ headers, url }: Pick<FastifyRequest, 'headers' | 'url'>): string[] {
  const { authorization = '' } = headers;
  const keys = /^\s*(?:bearer\s*)?$/i.test(authorization) ? [] : [authorization];
  for (const name of keyHeaders) {
    const key = headers[name];
    if (typeof key === 'string' && key !== '') keys.push(`Bearer ${key}`);
  }
  const key = readQueryKey(url);
  if (key !== undefined) keys.push(`Bearer ${key}`);
  return keys;
}
