import type { EntryPart, LedgerLine, RecordedEntry } from '../../domain/ledger-entry.ts';
import { type AttemptRecord, readHistory, type RequestHistory } from '../../domain/request-history.ts';
import { usdOf } from '../../metering/cost.ts';

/** All that is known of the parts of a request. @see docs/reference/management.md#attempts */
export function writeHistoryParts(entry: RecordedEntry) {
  const history = readHistory(entry.history) ?? {};
  const attempts = listAttempts(entry, history);
  const { omitted } = history;
  const lastMessage = history.message ?? attempts.at(-1)?.error_message ?? null;
  return {
    error_message: entry.errorType === null ? null : lastMessage,
    provider_responses: attempts.map((attempt) => ({
      provider_name: attempt.provider_name,
      model_permaslug: attempt.model,
      endpoint_id: attempt.endpoint_id ?? undefined,
      is_byok: attempt.is_byok,
      status: attempt.status,
    })),
    attempts,
    tool_calls: (history.tools ?? []).map(({ tool = null, step, outcome, startMs, durationMs }) => ({
      step,
      tool,
      outcome,
      start_ms: startMs,
      duration_ms: durationMs,
    })),
    charges: (entry.lines ?? []).filter(({ kind }) => kind === 'tool').map(writeCharged),
    pipeline: history.stages ?? [],
    rejected_route: history.route ?? null,
    omitted_requests: history.omittedRequests ?? 0,
    history_omitted: omitted
      ? { attempts: omitted.attempts ?? 0, tool_calls: omitted.tools ?? 0, pipeline: omitted.stages ?? 0 }
      : null,
  };
}

export type WrittenAttempt = ReturnType<typeof writeAttempt>;

/** The attempts of the history, or of an entry that says it all: those with usage. */
function listAttempts(entry: RecordedEntry, { attempts }: RequestHistory): WrittenAttempt[] {
  if (attempts) return attempts.map((attempt) => writeAttempt(entry, attempt));
  if (entry.lines) {
    let step = 1;
    return entry.lines.flatMap(({ kind, status }, line) => {
      if (kind === 'tool') return [];
      if (kind === 'turn') step++;
      return writeAttempt(entry, { step, line, status });
    });
  }
  if (entry.provider === null) return [];
  const { status, errorType, firstOutputMs, durationMs } = entry;
  return [
    writeAttempt(entry, {
      line: 0,
      status,
      startMs: 0,
      durationMs,
      ...(errorType !== null && { errorType }),
      ...(firstOutputMs !== null && { firstByteMs: firstOutputMs }),
    }),
  ];
}

const nothing = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0, costNanoUsd: 0n, priced: true };

function writeAttempt(entry: RecordedEntry, attempt: AttemptRecord) {
  const { step = 1, line, endpoint } = attempt;
  const part: EntryPart | undefined = line === undefined ? undefined : (entry.lines?.[line] ?? entry);
  const used = part ?? nothing;
  return {
    step,
    provider_name: endpoint?.provider ?? part?.provider ?? null,
    provider_id: endpoint?.providerId ?? part?.providerId ?? null,
    model: endpoint?.model ?? part?.model ?? null,
    endpoint_id: endpoint?.id ?? part?.endpointId ?? null,
    is_byok: part?.isByok ?? endpoint?.isByok === true,
    provider_key: attempt.key ?? null,
    status: attempt.status,
    error_type: attempt.errorType ?? null,
    error_message: attempt.message ?? null,
    upstream_request_id: attempt.upstreamRequestId ?? null,
    start_ms: attempt.startMs ?? null,
    first_byte_ms: attempt.firstByteMs ?? null,
    duration_ms: attempt.durationMs ?? null,
    tokens_prompt: used.inputTokens,
    tokens_cached: used.cachedTokens,
    tokens_completion: used.outputTokens,
    tokens_reasoning: used.reasoningTokens,
    usage_estimated: part?.estimated === true,
    total_cost: used.priced ? usdOf(used.costNanoUsd) : null,
  };
}

/** Writes the charge of a line: its name is in the model, its service in the provider. */
const writeCharged = ({ model, provider, priced, costNanoUsd }: LedgerLine) => ({
  name: model,
  service: provider,
  total_cost: priced ? usdOf(costNanoUsd) : null,
});
