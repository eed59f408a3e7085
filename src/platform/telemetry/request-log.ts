import { performance } from 'node:perf_hooks'; // the global is a getter
import type { LedgerEntry } from '../../domain/ledger-entry.ts';
import type { GatewayError } from '../../domain/errors.ts';
import { describeFailure } from './describe-failure.ts';
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

/** Writes one line for each finished request, with its cause if it failed. A line never contains a prompt, a key, or the client's id of its user. */
export interface RequestLog {
  writeRun(run: ObservedRun, entry: LedgerEntry): void;
  writeResponse(failure: GatewayError | undefined, describe: () => ResponseFields): void;
}

/** @param isWanted `log.requests`: writes lines about requests that did not fail at `info`, otherwise at `debug` */
export function createRequestLog(log: Pick<Log, 'write' | 'isEnabled'>, isWanted: () => boolean): RequestLog {
  const levelOf = () => (isWanted() ? 'info' : 'debug');
  function write(failure: GatewayError | undefined, describe: () => LogFields<'request'>): void {
    // The line `provider key rejected` reports a rejected key once.
    const level = !failure || failure.kind === 'upstream_key_rejected' ? levelOf() : levelOfFailure(failure);
    if (!log.isEnabled(level)) return;
    if (failure) log.write('request failed', { ...describe(), ...describeFailure(failure) }, level);
    else log.write('request', describe(), level as 'info' | 'debug');
  }
  return {
    writeRun: (run, entry) => write(findFailure(run), () => describeRequestLine(run, entry)),
    writeResponse(failure, describe) {
      write(failure, () => {
        const { requestId, generationId, receivedAt, isComplete, ...fields } = describe();
        return {
          request_id: requestId,
          generation_id: generationId,
          ...fields,
          ...(isComplete ? undefined : { cancelled: true }),
          duration_ms: round(performance.now() - receivedAt),
        };
      });
    },
  };
}

/** Finds the failure of the gateway or a provider that ended a client's request. */
export const findFailure = ({ error, origin }: ObservedRun): GatewayError | undefined =>
  error && origin && error.status >= 500 ? error : undefined;

const levelOfFailure = ({ kind }: GatewayError): 'error' | 'warn' => (kind === 'internal' ? 'error' : 'warn');

/** Characters of a hash that the commands of the CLI accept. */
const HASH_LENGTH = 12;

function describeRequestLine(run: ObservedRun, entry: LedgerEntry): LogFields<'request'> {
  const now = performance.now();
  const { origin } = run;
  const attempts = listAttempts(run);
  const upstreamMs = sumUpstreamMs(run, now);
  const last = run.error && attempts.at(-1)?.endpoint;
  return {
    request_id: origin?.requestId,
    generation_id: entry.id,
    ...(origin ? { method: 'POST', route: origin.route } : { made_by_gateway: true }),
    ...(entry.parentId !== undefined && { parent_id: entry.parentId }),
    workspace_id: entry.workspaceId,
    key_name: run.caller.keyName,
    key_hash: run.caller.keyHash.slice(0, HASH_LENGTH),
    requested_model: entry.requestedModel.slice(0, 200),
    model: entry.model ?? last?.model ?? null,
    provider: entry.provider ?? last?.provider.name ?? null,
    streamed: entry.streamed,
    outcome: entry.outcome,
    ...describeError(run.error),
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

/**
 * Describes the failure of a provider or of the gateway. The text of another error may quote the request, so it is not
 * logged.
 */
function describeError(error: GatewayError | undefined): LogFields<'request'> | undefined {
  if (!error || (error.status < 500 && error.loggedMessage === undefined)) return undefined;
  return { kind: error.kind, error: error.loggedMessage ?? error.message };
}

/** Lists the attempts before the one that ended the run. */
function listFailed(
  attempts: readonly ObservedAttempt[],
  error: ObservedRun['error'],
): LogFields<'request'> | undefined {
  const failed = error ? attempts.slice(0, -1) : attempts.filter((attempt) => attempt.error);
  if (failed.length === 0) return undefined;
  return {
    failed_attempts: failed.map(({ endpoint, status, error: cause, upstreamRequestId }) => ({
      model: endpoint.model,
      provider: endpoint.provider.name,
      status,
      ...(upstreamRequestId !== undefined && { upstream_request_id: upstreamRequestId }),
      ...(cause && { error: describeFailure(cause).error }),
    })),
  };
}

/** Rounds to microseconds. */
const round = (ms: number): number => Math.round(ms * 1000) / 1000;
