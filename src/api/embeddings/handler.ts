import type { FastifyReply, FastifyRequest } from 'fastify';
import { isDataUrl } from '../../domain/data-url.ts';
import type { EmbeddingFinish, EmbeddingRequest } from '../../domain/embeddings.ts';
import { refuseReach } from '../../domain/reach.ts';
import type { Route } from '../../http/routes.ts';
import { estimateEmbeddingTokens } from '../../pipeline/accounting/reserved-tokens.ts';
import { createRetrieval } from '../../pipeline/create-retrieval.ts';
import { embeddingTask } from '../../pipeline/retrieval/embedding-task.ts';
import type { RetrievalPipeline } from '../../pipeline/retrieval-pipeline.ts';
import { createRetrievalRun } from '../../pipeline/run/create-run.ts';
import type { EmbeddingRun } from '../../pipeline/run/retrieval-run.ts';
import { lastAttemptOf } from '../../pipeline/run/step.ts';
import type { RouterMetadata } from '../../domain/router-metadata.ts';
import { type ParsedRetrieval, readEmbeddingRequest, type RetrievalHints } from '../../requests/embeddings/request.ts';
import type { RenameFields } from '../../requests/rename-fields.ts';
import { findSessionHeader } from '../../requests/session-header.ts';
import { renameError } from '../serve-text.ts';
import { type AcceptedRequest, type ServeRunParts, serveRun } from '../serve-run.ts';
import { writeEmbeddingsResponse } from './write-embeddings-response.ts';

export interface EmbeddingsParts extends ServeRunParts {
  pipeline: RetrievalPipeline<EmbeddingRun>;
  requestMs: () => number;
  maxInputs: () => number;
}

/** An API of embeddings: how it reads a body, and writes the vectors. */
export interface EmbeddingApi {
  /** @throws {GatewayError} if the body is invalid */
  read: (request: FastifyRequest, hints: RetrievalHints) => ParsedRetrieval<EmbeddingRequest>;
  write: (run: EmbeddingRun, metadata: RouterMetadata | undefined) => Buffer;
  /** Names the fields in a text as the body does. Absent: they have the names of `POST /embeddings`. */
  rename?: RenameFields;
}

const openEmbeddings: EmbeddingApi = {
  read: ({ body }, hints) => readEmbeddingRequest(body, hints),
  write: writeEmbeddingsResponse,
};

/** `POST /embeddings`. @see docs/reference/embeddings.md */
export function createEmbeddingsHandler(parts: EmbeddingsParts, api = openEmbeddings): Route['handler'] {
  const { pipeline } = parts;

  function accept(request: FastifyRequest, reply: FastifyReply): AcceptedRequest<EmbeddingRun> {
    const { request: wanted, ignoredFields } = api.read(request, {
      sessionId: findSessionHeader(request.headers),
      maxItems: parts.maxInputs(),
      setting: 'embeddings.max_inputs',
    });
    if (request.caller!.reach) rejectAddresses(wanted.input);
    request.body = undefined; // `wanted` has the input, which may be large
    request.rawBody = undefined;
    const { model } = wanted;
    return {
      settings: model === undefined ? {} : { model },
      estimateTokens: () => estimateEmbeddingTokens(wanted),
      deadline: { ms: parts.requestMs(), setting: 'timeouts.request_ms' },
      ignoredFields,
      clamped: [],
      createRun: (origin) => createRetrievalRun<EmbeddingRequest, EmbeddingFinish>(pipeline, wanted, origin),
      respond: (run) => ({
        run: () => createRetrieval(pipeline, run, embeddingTask),
        end() {
          reply.header('content-type', 'application/json; charset=utf-8');
          return api.write(run, parts.describeRun(run));
        },
        stream: {
          hasBegun: () => false,
          fail() {},
          close: () => lastAttemptOf(run)?.memory.free(),
        },
      }),
      rename: api.rename,
    };
  }

  const { rename } = api;
  return (request, reply) => {
    const served = serveRun(parts, request, reply, () => accept(request, reply));
    if (!rename) return served;
    return served.catch((error: unknown) => {
      throw renameError(error, rename);
    });
  };
}

/** @throws {GatewayError} `permission_denied` for an address that a provider would open for an intern */
function rejectAddresses({ kind, items }: EmbeddingRequest['input']): void {
  if (kind !== 'parts') return;
  for (const [index, parts] of items.entries()) {
    for (const [at, part] of parts.entries()) {
      if (part.type === 'text' || isDataUrl(part.image_url.url)) continue;
      const path = `input[${index}].content[${at}].image_url.url`;
      throw refuseReach(path, 'is an address, which a provider would open. Interns send the data itself.');
    }
  }
}
