import { performance } from 'node:perf_hooks'; // the global is a getter
import type { FastifyRequest } from 'fastify';
import type { Access } from '../access/access.ts';
import type { Caller } from '../domain/caller.ts';
import { currentTimeMs } from '../domain/clock.ts';
import type { GatewayError } from '../domain/errors.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import type { RequestHistory } from '../domain/request-history.ts';
import { truncateName } from '../domain/truncate-name.ts';
import { readSentKeys } from '../http/read-sent-keys.ts';
import type { RejectionLog } from '../metering/rejections.ts';

/** The kinds of requests that have no response of a model, by the last part of their route. */
const apiTypes: Readonly<Record<string, NonNullable<LedgerEntry['apiType']>>> = {
  embeddings: 'embeddings',
  rerank: 'rerank',
  images: 'image',
  generations: 'image',
  edits: 'image',
};

/**
 * Returns what records a request that was rejected before it had a run: by a rate limit, or because its key is disabled or
 * expired.
 */
export const recordRejections =
  (access: Pick<Access, 'findRejected'>, rejections: Pick<RejectionLog, 'note'>) =>
  (request: FastifyRequest, failure: GatewayError): void => {
    const caller =
      failure.kind === 'authentication'
        ? access.findRejected(readSentKeys(request), request.raw.socket)
        : failure.rateLimit && request.caller;
    if (caller) rejections.note(writeRejection(request, caller, failure));
  };

function writeRejection(request: FastifyRequest, caller: Caller, failure: GatewayError): LedgerEntry {
  const { requestedModel = '', isStreamed, tags } = request;
  const { path = '' } = request.routeSetting;
  const apiType = apiTypes[path.slice(path.lastIndexOf('/') + 1)];
  const history: RequestHistory = { message: failure.message, route: path };
  return {
    id: request.generationId,
    createdAtMs: currentTimeMs(),
    ...(apiType && { apiType }),
    workspaceId: caller.workspaceId,
    keyHash: caller.keyHash,
    memberId: caller.memberId,
    requestedModel: truncateName(requestedModel),
    router: null,
    task: null,
    model: null,
    provider: null,
    providerId: null,
    endpointId: null,
    tier: null,
    isByok: false,
    outcome: 'failed',
    status: failure.status,
    errorType: failure.errorType,
    streamed: isStreamed,
    inputTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    costNanoUsd: 0n,
    inputCostNanoUsd: 0n,
    priced: true,
    upstreamCostNanoUsd: null,
    estimated: false,
    firstOutputMs: null,
    durationMs: Math.max(0, Math.round(performance.now() - request.receivedAt)),
    sessionId: null,
    endUser: null,
    ...(tags && { tags }),
    history: JSON.stringify(history),
  };
}
