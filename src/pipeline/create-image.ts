import { asGatewayError, type ErrorKind, GatewayError } from '../domain/errors.ts';
import type { ImageEvent } from '../domain/image-events.ts';
import type { Sink } from '../domain/sink.ts';
import type { ImageStages } from './image-stages.ts';
import type { ImageRun } from './run.ts';

/**
 * One image generation, from an accepted request to its last picture: what `create-response.ts` is for text. Read this
 * file first. A generation is paid for whole or not at all, so that whatever breaks it makes it free.
 *
 * @param run what `stages.startRun` made of the request
 * @param client takes partial pictures and finished ones; the last says so
 * @throws {GatewayError} everything that went wrong; whoever has told the client of a beginning tells it of this end
 */
export async function createImage(stages: ImageStages, run: ImageRun, client: Sink<ImageEvent>): Promise<void> {
  try {
    const plan = await stages.planRoute(run);
    await stages.loadReferences(run);
    await stages.requestEndpoints(run, plan, stages.buildEvents(run, client));
  } catch (error) {
    run.error = asImageError(asGatewayError(error));
    throw run.error;
  } finally {
    stages.closeRun(run);
  }
}

/** 408, 422 and 503 are no answers of this path. @see images.md section 8 */
export function asImageError(error: GatewayError): GatewayError {
  const kind = kinds[error.kind];
  if (kind === undefined) return error;
  const { message, metadata, availability, retryAfterSeconds, providerCode, cause } = error;
  return new GatewayError(kind, message, { metadata, availability, retryAfterSeconds, providerCode, cause });
}

const kinds: Partial<Record<ErrorKind, ErrorKind>> = {
  request_timeout: 'upstream_timeout',
  unprocessable: 'upstream_rejected',
  unavailable: 'upstream_overloaded',
};
