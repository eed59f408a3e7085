import { performance } from 'node:perf_hooks'; // the global is a getter
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Ticket } from '../../access/rate-limits.ts';
import type { Caller } from '../../domain/caller.ts';
import { asGatewayError, type GatewayError } from '../../domain/errors.ts';
import type { RequestSettings } from '../../domain/request.ts';
import type { RouterMetadata } from '../../domain/router-metadata.ts';
import { describeRequest, type FailedRequest } from '../../http/failed-request.ts';
import { ImageResponse } from '../../http/image-response.ts';
import type { OpenRequests } from '../../http/open-requests.ts';
import { ClientWatch } from '../../http/watch-client.ts';
import { ledgerUnavailable } from '../../metering/ledger.ts';
import { asImageError } from '../../pipeline/as-image-error.ts';
import { createImage } from '../../pipeline/create-image.ts';
import { createImageRun } from '../../pipeline/create-run.ts';
import type { ImagePipeline } from '../../pipeline/pipeline.ts';
import { type ImageRun, isOverLimit } from '../../pipeline/run.ts';
import { lastAttemptOf } from '../../pipeline/step.ts';
import { noteEndpoint } from '../responses/note-endpoint.ts';
import { findSessionHeader } from '../responses/session-header.ts';
import { wantsMetadata } from '../responses/wants-metadata.ts';
import { readImageRequest } from './request.ts';

export interface ImagesParts {
  pipeline: ImagePipeline;
  describeRun: (run: ImageRun) => RouterMetadata | undefined;
  /** Where runs are entered, so that a shutdown can end them. */
  open: OpenRequests;
  /** Deadlines in milliseconds, buffered and streamed. */
  requestMs: () => number;
  streamMs: () => number;
  keepAliveMs: () => number;
  /** Lets a request in, or refuses it with 429. */
  admit: (caller: Caller, request: RequestSettings, id: string) => Ticket | undefined | Promise<Ticket | undefined>;
  /** False when the ledger cannot keep what is booked. */
  canRecord: () => boolean;
  /** Told of a stream that broke; what fails before is told at the edge. */
  onFailure: (error: GatewayError, request: FailedRequest) => void;
}

/** `POST /images`: check, run, and write pictures as a stream or as one body. @see images.md */
export function createImagesHandler(parts: ImagesParts) {
  return async function createImageHandler(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const handledAt = performance.now();
    const { headers } = request;
    const caller = request.caller!;
    const read = readImageRequest(request.body, {
      sessionId: findSessionHeader(headers),
      defaultModel: caller.defaults?.imageModel,
    });
    const { request: asked, ignoredFields } = read;
    request.body = undefined; // references are large, and `asked` has them
    request.rawBody = undefined;
    const stream = asked.stream === true;
    const ticket = await letIn(parts, request, { model: asked.model, stream });
    const client = stream
      ? new ClientWatch(reply.raw, parts.streamMs(), 'images.stream_ms')
      : new ClientWatch(reply.raw, parts.requestMs(), 'images.request_ms');
    const end = parts.open.begin(
      (reason) => client.cancellation.cancel(asImageError(reason)),
      stream ? 'stream' : 'response',
    );
    request.hasRun = true;
    const run = createImageRun(parts.pipeline, asked, {
      caller,
      origin: {
        requestId: request.id,
        receivedAt: request.receivedAt,
        handledAt,
        traceparent: headers['traceparent'] as string | undefined, // Node joins those that come twice
      },
      generationId: request.generationId,
      cancellation: client.cancellation,
      metadata: wantsMetadata(headers),
      ignoredFields,
      clamped: [],
      modelDefault: read.hasDefaultModel ? 'default_image_model' : undefined,
      modelLimits: ticket,
    });
    const answer = new ImageResponse(reply.raw, {
      headers: reply.getHeaders() as Record<string, string>,
      keepAliveMs: stream ? parts.keepAliveMs() : 0,
      mayStream: () => stream && lastAttemptOf(run)?.endpoint.image?.streams === true,
    });
    try {
      await createImage(parts.pipeline, run, answer);
      await answer.end();
    } catch (error) {
      const failure = asGatewayError(error);
      if (!answer.begun) {
        request.routerMetadata = parts.describeRun(run);
        noteEndpoint(request, run);
        throw failure;
      }
      noteEndpoint(request, run);
      if (failure.status >= 500) parts.onFailure(failure, describeRequest(request));
      answer.fail(failure);
    } finally {
      answer.stop();
      client.stop();
      run.memory.free();
      end();
      ticket?.end(run.usage?.totalTokens ?? 0, isOverLimit(run));
    }
    return reply.hijack();
  };
}

/** @throws {GatewayError} with statuses of this path alone */
async function letIn(
  { canRecord, admit }: Pick<ImagesParts, 'canRecord' | 'admit'>,
  { caller, generationId }: FastifyRequest,
  asked: RequestSettings,
): Promise<Ticket | undefined> {
  try {
    if (!canRecord()) throw ledgerUnavailable();
    return await admit(caller!, asked, generationId);
  } catch (error) {
    throw asImageError(asGatewayError(error));
  }
}
