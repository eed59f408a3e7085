import type { Caller } from '../domain/caller.ts';
import { Cancellation } from '../domain/cancellation.ts';
import { GatewayError } from '../domain/errors.ts';
import { createTimedId } from '../domain/ids.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { ResponseObject } from '../domain/response.ts';
import { createResponse } from './create-response.ts';
import { createRun } from './create-run.ts';
import { EventFold } from './fold-events.ts';
import type { ResponsePipeline } from './pipeline.ts';

/** A request that the gateway makes itself, in the course of a caller's. */
export interface InnerRequest {
  request: ResponseRequest;
  /** On whose account. */
  caller: Caller;
  timeoutMs: number;
  /** Of the request that it is made for. */
  parent: Cancellation;
}

/**
 * Asks a model for a whole answer, along the same path as a caller's request, with a ledger entry of its own.
 *
 * @throws {GatewayError} what the request fails with; `request_timeout` after `timeoutMs`
 */
export async function respond(
  pipeline: ResponsePipeline,
  { request, caller, timeoutMs, parent }: InnerRequest,
): Promise<ResponseObject> {
  const cancellation = new Cancellation();
  const listener = { cancelled: (reason: GatewayError) => cancellation.cancel(reason) };
  parent.add(listener);
  const timer = setTimeout(() => {
    cancellation.cancel(new GatewayError('request_timeout', `No answer came within ${timeoutMs} ms.`));
  }, timeoutMs);
  const run = createRun(pipeline, {
    request,
    caller,
    generationId: createTimedId('gen-'),
    cancellation,
    metadata: false,
    ignoredFields: [],
    clamped: [],
  });
  const fold = new EventFold();
  try {
    await createResponse(pipeline, run, fold);
    return fold.response;
  } finally {
    clearTimeout(timer);
    parent.remove(listener);
  }
}
