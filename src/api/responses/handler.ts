import type { FastifyReply, FastifyRequest } from 'fastify';
import { findServedTools } from '../../domain/depth-headers.ts';
import type { Route } from '../../http/routes.ts';
import { EventStream, type ResponseHeaders } from '../../http/sse.ts';
import { createResponse } from '../../pipeline/create-response.ts';
import { failRun } from '../../pipeline/events/fail-run.ts';
import { EventFold } from '../../pipeline/events/fold-events.ts';
import type { ResponsePipeline } from '../../pipeline/response-pipeline.ts';
import { createRun } from '../../pipeline/run/create-run.ts';
import type { Run } from '../../pipeline/run/run.ts';
import { BodySource } from '../../requests/responses/request.ts';
import type { ModulePlugins } from '../../requests/module-plugins.ts';
import { findSessionHeader } from '../../requests/session-header.ts';
import { type AcceptedRequest, type RunResponse, type ServeRunParts, serveRun } from '../serve-run.ts';
import { acceptRequest } from './accept-request.ts';

export interface ResponsesParts extends ServeRunParts {
  pipeline: ResponsePipeline;
  /** The operator's plugins. */
  modules: ModulePlugins;
  requestMs: () => number;
  keepAliveMs: () => number;
}

/** `POST /responses`. */
export function createResponsesHandler(parts: ResponsesParts): Route['handler'] {
  const { pipeline } = parts;

  function accept(
    { headers, body, rawBody, bodyShare, caller }: FastifyRequest,
    reply: FastifyReply,
  ): AcceptedRequest<Run> {
    const { defaults, presets } = caller!; // the route needs a key
    const read = acceptRequest(body, {
      sessionId: findSessionHeader(headers),
      defaultModel: defaults?.textModel,
      savedPlugins: defaults?.plugins,
      presets,
      modules: parts.modules,
      disabledTools: defaults?.disabledTools,
    });
    const { request, ignoredFields, clamped } = read;
    const source = rawBody && new BodySource(rawBody, read);
    return {
      settings: request,
      deadline: { ms: parts.requestMs(), setting: 'timeouts.request_ms' },
      ignoredFields,
      clamped,
      modelDefault: read.hasDefaultModel ? 'default_text_model' : undefined,
      pluginDefaults: read.pluginDefaults,
      preset: read.preset,
      createRun: (origin) =>
        createRun(pipeline, { ...origin, request, source, within: findServedTools(headers), memory: bodyShare }),
      respond: (run, headers) => (request.stream ? streamResponse(run, reply, headers) : bufferResponse(run, reply)),
    };
  }

  function streamResponse(run: Run, { raw }: FastifyReply, headers: () => ResponseHeaders): RunResponse {
    const events = new EventStream(raw, { headers, keepAliveMs: parts.keepAliveMs() });
    return {
      run: () => createResponse(pipeline, run, events),
      end: () => void events.end(),
      stream: {
        get begun() {
          return events.begun;
        },
        fail(error) {
          const last = failRun(run, error);
          if (last.length > 0) events.write(last);
          events.end();
        },
        close: () => events.stop(),
      },
    };
  }

  function bufferResponse(run: Run, reply: FastifyReply): RunResponse {
    const fold = new EventFold();
    return {
      run: () => createResponse(pipeline, run, fold),
      end() {
        reply.header('content-type', 'application/json; charset=utf-8');
        return JSON.stringify(fold.response);
      },
    };
  }

  return (request, reply) => serveRun(parts, request, reply, () => accept(request, reply));
}
