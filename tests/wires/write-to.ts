import { expect } from 'vitest';
import type { InputItem } from '../../src/domain/items.ts';
import type { ResponseRequest } from '../../src/domain/request.ts';
import type { Target, UpstreamRequest } from '../../src/providers/wire.ts';

export const hello: InputItem = { type: 'message', role: 'user', content: 'hello' };

/**
 * Translates requests to `acme/one at Acme` with the `writeRequest` of a wire.
 *
 * @param usual defaults of each target; not streamed, and without a dialect
 */
export const writeTo =
  <ReaderContext>(
    writeRequest: (request: ResponseRequest, target: Target) => UpstreamRequest<ReaderContext>,
    usual: Pick<Target, 'upstreamModel'> & Partial<Target>,
  ) =>
  (request: Partial<ResponseRequest>, target: Partial<Target> = {}): UpstreamRequest<ReaderContext> =>
    writeRequest(
      { input: [hello], ...request },
      { endpoint: 'acme/one at Acme', stream: false, dialect: {}, ...usual, ...target },
    );

/** The error for a field that the wire cannot carry: it names the place and the endpoint, and another one may take it. */
export const refused = (path: string) =>
  expect.objectContaining({
    kind: 'invalid_request',
    retryable: true,
    message: expect.stringMatching(`^${path.replace(/[[\]]/g, '\\$&')}: .*acme/one at Acme`),
  });
