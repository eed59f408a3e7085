import type { ErrorDialect } from '../../http/error-dialect.ts';
import { writeErrorEnvelope } from '../../http/error-envelope.ts';

/**
 * Writes an error of `POST /rerank`: the envelope, and the message where clients of Cohere read it.
 *
 * @see docs/reference/rerank.md#clients-of-cohere
 */
export const writeRerankError: ErrorDialect = (thrown, routerMetadata, request) => {
  const response = writeErrorEnvelope(thrown, routerMetadata, request);
  return { ...response, body: { message: response.body.error.message, ...response.body } };
};
