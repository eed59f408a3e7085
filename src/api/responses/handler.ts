import { performance } from 'node:perf_hooks'; // the global is a getter
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Ticket } from '../../access/rate-limits.ts';
import type { Caller } from '../../domain/caller.ts';
import { asGatewayError, type GatewayError } from '../../domain/errors.ts';
import type { RequestSettings } from '../../domain/request.ts';
import type { RouterMetadata } from '../../domain/router-metadata.ts';
import { describeRequest, type FailedRequest } from '../../http/failed-request.ts';
import type { OpenRequests } from '../../http/open-requests.ts';
import { EventStream, sseHeaders } from '../../http/sse.ts';
import { ClientWatch } from '../../http/watch-client.ts';
import { ledgerUnavailable } from '../../metering/ledger.ts';
import { createResponse } from '../../pipeline/create-response.ts';
import { createRun } from '../../pipeline/create-run.ts';
import { failRun } from '../../pipeline/fail-run.ts';
import { EventFold } from '../../pipeline/fold-events.ts';
import type { ResponsePipeline } from '../../pipeline/pipeline.ts';
import { isOverLimit, type Run } from '../../pipeline/run.ts';
import { acceptRequest } from './accept-request.ts';
import { noteEndpoint } from './note-endpoint.ts';
import { BodySource } from './request.ts';
import { findSessionHeader } from './session-header.ts';
import { wantsMetadata } from './wants-metadata.ts';

export interface ResponsesParts {
  pipeline: ResponsePipeline;
  describeRun: (run: Run) => RouterMetadata | undefined;
  /** Where runs are entered, so that a shutdown can end them. */
  open: OpenRequests;
  requestMs: () => number;
  keepAliveMs: () => number;
  /** Lets a request in, or refuses it with 429; a promise only where it is counted elsewhere. */
  admit: (caller: Caller, request: RequestSettings, id: string) => Ticket | undefined | Promise<Ticket | undefined>;
  /** False when the ledger cannot keep what is booked. */
  canRecord: () => boolean;
  /** Told of a stream that broke; what fails before is told at the edge. */
  onFailure: (error: GatewayError, request: FailedRequest) => void;
}

/** `POST /responses`: check, run, and either stream the events or send what they fold to. */
export function createResponsesHandler(parts: ResponsesParts) {
  const { pipeline } = parts;

  /** @throws what goes wrong before the answer has begun; nothing after that */
  async function streamResponse(reply: FastifyReply, run: Run): Promise<void> {
    const stream = new EventStream(reply.raw, {
      headers: { ...(reply.getHeaders() as Record<string, string>), ...sseHeaders },
      keepAliveMs: parts.keepAliveMs(),
    });
    try {
      await createResponse(pipeline, run, stream);
    } catch (error) {
      if (!stream.begun) throw error;
      const events = failRun(run, error);
      if (events.length > 0) stream.write(events);
    } finally {
      stream.stop();
    }
    reply.raw.end();
  }

  return async function createResponseHandler(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const handledAt = performance.now();
    const { headers } = request;
    const caller = request.caller!;
    const read = acceptRequest(request.body, {
      sessionId: findSessionHeader(headers),
      defaultModel: caller.defaults?.textModel,
    });
    if (!parts.canRecord()) throw ledgerUnavailable();
    const admitted = parts.admit(caller, read.request, request.generationId);
    const ticket = admitted instanceof Promise ? await admitted : admitted;
    const client = new ClientWatch(reply.raw, parts.requestMs());
    const end = parts.open.begin(
      (reason) => client.cancellation.cancel(reason),
      read.request.stream ? 'stream' : 'response',
    );
    request.hasRun = true;
    const run = createRun(pipeline, {
      request: read.request,
      source: request.rawBody && new BodySource(request.rawBody, read),
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
      ignoredFields: read.ignoredFields,
      clamped: read.clamped,
      modelDefault: read.hasDefaultModel ? 'default_text_model' : undefined,
      modelLimits: ticket,
    });
    try {
      if (read.request.stream) {
        await streamResponse(reply, run);
        if (run.error && run.error.status >= 500) {
          noteEndpoint(request, run);
          parts.onFailure(run.error, describeRequest(request));
        }
        return reply.hijack();
      }
      const fold = new EventFold();
      await createResponse(pipeline, run, fold);
      reply.header('content-type', 'application/json; charset=utf-8');
      return JSON.stringify(fold.response);
    } catch (error) {
      request.routerMetadata = parts.describeRun(run);
      noteEndpoint(request, run);
      throw asGatewayError(error);
    } finally {
      client.stop();
      end();
      ticket?.end(run.usage?.totalTokens ?? 0, isOverLimit(run));
    }
  };
}
