import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EmbeddingFinish, EmbeddingRequest } from '../../domain/embeddings.ts';
import type { Route } from '../../http/routes.ts';
import { createRetrieval } from '../../pipeline/create-retrieval.ts';
import { embeddingTask } from '../../pipeline/retrieval/embedding-task.ts';
import type { RetrievalPipeline } from '../../pipeline/retrieval-pipeline.ts';
import { createRetrievalRun } from '../../pipeline/run/create-run.ts';
import type { EmbeddingRun } from '../../pipeline/run/retrieval-run.ts';
import { lastAttemptOf } from '../../pipeline/run/step.ts';
import { readEmbeddingRequest } from '../../requests/embeddings/request.ts';
import { findSessionHeader } from '../../requests/session-header.ts';
import { type AcceptedRequest, type ServeRunParts, serveRun } from '../serve-run.ts';
import { writeEmbeddingsResponse } from './write-embeddings-response.ts';

export interface EmbeddingsParts extends ServeRunParts {
  pipeline: RetrievalPipeline<EmbeddingRun>;
  requestMs: () => number;
  maxInputs: () => number;
}

/** `POST /embeddings`. @see docs/reference/embeddings.md */
export function createEmbeddingsHandler(parts: EmbeddingsParts): Route['handler'] {
  const { pipeline } = parts;

  function accept(request: FastifyRequest, reply: FastifyReply): AcceptedRequest<EmbeddingRun> {
    const { request: wanted, ignoredFields } = readEmbeddingRequest(request.body, {
      sessionId: findSessionHeader(request.headers),
      maxItems: parts.maxInputs(),
      setting: 'embeddings.max_inputs',
    });
    request.body = undefined; // `wanted` has the input, which may be large
    request.rawBody = undefined;
    const { model } = wanted;
    return {
      settings: model === undefined ? {} : { model },
      deadline: { ms: parts.requestMs(), setting: 'timeouts.request_ms' },
      ignoredFields,
      clamped: [],
      createRun: (origin) => createRetrievalRun<EmbeddingRequest, EmbeddingFinish>(pipeline, wanted, origin),
      respond: (run) => ({
        run: () => createRetrieval(pipeline, run, embeddingTask),
        end() {
          reply.header('content-type', 'application/json; charset=utf-8');
          return writeEmbeddingsResponse(run, parts.describeRun(run));
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
