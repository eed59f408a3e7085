import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RerankFinish, RerankRequest } from '../../domain/rerank.ts';
import type { Route } from '../../http/routes.ts';
import { estimateRerankTokens } from '../../pipeline/accounting/reserved-tokens.ts';
import { createRetrieval } from '../../pipeline/create-retrieval.ts';
import { rerankTask } from '../../pipeline/retrieval/rerank-task.ts';
import type { RetrievalPipeline } from '../../pipeline/retrieval-pipeline.ts';
import { createRetrievalRun } from '../../pipeline/run/create-run.ts';
import type { RerankRun } from '../../pipeline/run/retrieval-run.ts';
import { lastAttemptOf } from '../../pipeline/run/step.ts';
import { readRerankRequest } from '../../requests/rerank/request.ts';
import { findSessionHeader } from '../../requests/session-header.ts';
import { type AcceptedRequest, type ServeRunParts, serveRun } from '../serve-run.ts';
import { writeRerankResponse } from './write-rerank-response.ts';

export interface RerankParts extends ServeRunParts {
  pipeline: RetrievalPipeline<RerankRun>;
  requestMs: () => number;
  maxDocuments: () => number;
}

/** `POST /rerank`. @see docs/reference/rerank.md */
export function createRerankHandler(parts: RerankParts): Route['handler'] {
  const { pipeline } = parts;

  function accept(request: FastifyRequest, reply: FastifyReply): AcceptedRequest<RerankRun> {
    const { request: wanted, ignoredFields } = readRerankRequest(request.body, {
      sessionId: findSessionHeader(request.headers),
      maxItems: parts.maxDocuments(),
      setting: 'embeddings.max_inputs',
    });
    request.body = undefined; // `wanted` has the documents, which may be large
    request.rawBody = undefined;
    const { model, models } = wanted;
    return {
      settings: { ...(model !== undefined && { model }), ...(models && { models }) },
      estimateTokens: () => estimateRerankTokens(wanted),
      deadline: { ms: parts.requestMs(), setting: 'timeouts.request_ms' },
      ignoredFields,
      clamped: [],
      createRun: (origin) => createRetrievalRun<RerankRequest, RerankFinish>(pipeline, wanted, origin),
      respond: (run) => ({
        run: () => createRetrieval(pipeline, run, rerankTask),
        end() {
          reply.header('content-type', 'application/json; charset=utf-8');
          return JSON.stringify(writeRerankResponse(run, parts.describeRun(run)));
        },
        stream: {
          hasBegun: () => false,
          fail() {},
          close: () => lastAttemptOf(run)?.memory.free(),
        },
      }),
    };
  }

  return (request, reply) => serveRun(parts, request, reply, () => accept(request, reply));
}
