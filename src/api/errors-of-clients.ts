import type { ErrorDialect, FailedRequest } from '../http/error-dialect.ts';
import { GEMINI_BASE, isGeminiClient } from '../http/gemini-paths.ts';
import { writeGeminiError } from './gemini/errors.ts';
import { writeMessagesError } from './messages/errors.ts';

/**
 * Writes errors as the clients of Anthropic and Google read them, on routes and paths that several formats share, such as
 * the models and a path that does not exist. choice 705
 *
 * @param usual writes the errors of all other clients
 */
export const forClients =
  (usual: ErrorDialect): ErrorDialect =>
  (thrown, routerMetadata, request) =>
    (findDialect(request) ?? usual)(thrown, routerMetadata, request);

function findDialect(request: FailedRequest | undefined): ErrorDialect | undefined {
  if (!request) return undefined;
  const { headers, url = '' } = request;
  if (headers['anthropic-version'] !== undefined) return writeMessagesError;
  return isGeminiClient(headers) || url.startsWith(GEMINI_BASE) ? writeGeminiError : undefined;
}
