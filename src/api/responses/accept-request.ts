import { GatewayError, type Issue } from '../../domain/errors.ts';
import { explainModelDefault } from '../../pipeline/steps/explain-model-default.ts';
import type { RequestHints } from '../../requests/request-hints.ts';
import { checkMeaning } from '../../requests/responses/check-meaning.ts';
import { rejectDisabledTools } from '../../requests/responses/disabled-tools.ts';
import { joinLateTools } from '../../requests/responses/late-tools.ts';
import { type ParsedRequest, readRequest } from '../../requests/responses/request.ts';
import { rejectUnsupportedFeatures } from '../../requests/responses/unsupported-features.ts';

/**
 * Reads a body. Rejects an invalid body, and one that requests an unsupported feature.
 *
 * @throws {GatewayError} `invalid_request` and `unprocessable`, with the problems in `metadata.issues`
 */
export const acceptRequest = (body: unknown, hints: RequestHints): ParsedRequest =>
  checkAccepted(readRequest(body, hints), hints);

/**
 * Rejects a request that contradicts itself or requests an unsupported feature. Every API of texts calls it.
 *
 * @throws {GatewayError} `invalid_request` and `unprocessable`, with the problems in `metadata.issues`
 */
export function checkAccepted(read: ParsedRequest, hints: RequestHints): ParsedRequest {
  try {
    checkMeaning(read.request);
    if (hints.disabledTools) rejectDisabledTools(read.request, hints.disabledTools);
    rejectUnsupportedFeatures(read.request);
    joinLateTools(read);
  } catch (error) {
    const modelDefault = read.hasDefaultModel ? 'default_text_model' : undefined;
    throw isAboutModel(error) ? explainModelDefault(error, { modelDefault }) : error;
  }
  return read;
}

const isAboutModel = (error: unknown): boolean =>
  error instanceof GatewayError && (error.metadata['issues'] as Issue[] | undefined)?.[0]?.path === 'model';
