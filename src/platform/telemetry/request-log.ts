import { performance } from 'node:perf_hooks'; // the global is a getter
import type { LedgerEntry } from '../../domain/ledger-entry.ts';
import type { LogFields } from './log-messages.ts';
import { listAttempts, type ObservedAttempt, type ObservedRun, sumUpstreamMs } from './observed.ts';
import type { Log } from './open-log.ts';

/** A response without a run: a list of models, a rejection. */
export interface ResponseFields {
  requestId: string;
  generationId: string;
  method: string;
  route: string;
  status: number;
  isComplete: boolean;
  receivedAt: number;
}

/** Writes one line for each finished request. A line never contains a prompt, a key, or the client's id of its user. */
export interface RequestLog {
  writeRun(run: ObservedRun, entry: LedgerEntry): void;
  writeResponse(answer: () => ResponseFields): void;
}

/** @param isWanted `log.requests`: writes lines at `info`, otherwise at `debug` */
export function createRequestLog(log: Pick<Log, 'write' | 'isEnabled'>, isWanted: () => boolean): RequestLog {
  const levelOf = () => (isWanted() ? 'info' : 'debug');
  return {
    writeRun(run, entry) {
      const level = levelOf();
      if (log.isEnabled(level)) log.write('request', describeRequestLine(run, entry), level);
    },
    writeResponse(answer) {
      const level = levelOf();
      if (!log.isEnabled(level)) return;
      const { requestId, generationId, receivedAt, isComplete, ...fields } = answer();
      log.write(
        'request',
        {
          request_id: requestId,
          generation_id: generationId,
          ...fields,
          ...(isComplete ? undefined : { cancelled: true }),
          duration_ms: round(performance.now() - receivedAt),
        },
        level,
      );
    },
  };
}

function describeRequestLine(run: ObservedRun, entry: LedgerEntry): LogFields<'request'> {
  const now = performance.now();
  const { origin } = run;
  const attempts = listAttempts(run);
  const upstreamMs = sumUpstreamMs(run, now);
  return {
    request_id: origin?.requestId,
    generation_id: entry.id,
    ...(origin ? undefined : { made_by_gateway: true }),
    ...(entry.parentId !== undefined && { parent_id: entry.parentId }),
    workspace_id: entry.workspaceId,
    requested_model: entry.requestedModel.slice(0, 200),
    model: entry.model,
    provider: entry.provider,
    streamed: entry.streamed,
    outcome: entry.outcome,
    status: entry.status,
    error_type: entry.errorType,
    attempts: attempts.length,
    ...listFailed(attempts, run.error),
    ...(origin && {
      duration_ms: round(now - origin.receivedAt),
      queue_ms: round(origin.handledAt - origin.receivedAt),
      overhead_ms: round(now - origin.receivedAt - upstreamMs),
      ...(run.firstOutputAt !== undefined && { first_output_ms: round(run.firstOutputAt - origin.receivedAt) }),
    }),
    upstream_ms: round(upstreamMs),
    input_tokens: entry.inputTokens,
    cached_tokens: entry.cachedTokens,
    output_tokens: entry.outputTokens,
    reasoning_tokens: entry.reasoningTokens,
    cost_usd: entry.priced ? Number(entry.costNanoUsd) / 1e9 : null,
    ...(entry.estimated && { estimated: true }),
    end_user: entry.endUser,
  };
}

/** Lists the attempts before the one that ended the run. */
function listFailed(
  attempts: readonly ObservedAttempt[],
  error: ObservedRun['error'],
): LogFields<'request'> | undefined {
  const failed = error ? attempts.slice(0, -1) : attempts.filter((attempt) => attempt.error);
  if (failed.length === 0) return undefined;
  return {
    failed_attempts: failed.map(({ endpoint, status }) => ({
      model: endpoint.model,
      provider: endpoint.provider.name,
      status,
    })),
  };
}

/** Rounds to microseconds. */
const round = (ms: number): number => Math.round(ms * 1000) / 1000;
