import { performance } from 'node:perf_hooks'; // the global is a getter
import { errorKinds } from '../../domain/errors.ts';
import type { AttemptRecord, HistoryStage, RequestHistory, ToolRecord } from '../../domain/request-history.ts';
import type { StageRecord } from '../../domain/router-metadata.ts';
import { truncateName } from '../../domain/truncate-name.ts';
import type { Attempt } from '../run/attempt.ts';
import { MAX_MESSAGE_CHARACTERS } from '../run/router-metadata.ts';
import type { Run, RunBase } from '../run/run.ts';
import { lastAttemptOf } from '../run/step.ts';
import { listSpentParts } from './spent-parts.ts';

/** Maximum bytes of each list as JSON. A history has 16 KiB at most. */
const MAX_BYTES = { attempts: 9 * 1024, tools: 3 * 1024, stages: 2 * 1024 } as const;

/** A run of any kind. Only responses have server tools. */
type AnyRun = RunBase & Partial<Pick<Run, 'toolLoop'>>;

/**
 * Serializes what the ledger entry of a run does not say itself. Messages are those that the client sees.
 *
 * @param open the attempt that is about to be sent, if the process may die now; absent: the run has ended, or is between
 *   two attempts
 * @returns undefined for the usual run: one attempt that succeeded, without tools and stages
 * @see docs/guides/money.md#attempts
 */
export function writeHistory(run: AnyRun, open?: Attempt): string | undefined {
  if (isUsual(run, open)) return undefined;
  const parts = listSpentParts(run);
  const lines = new Map(parts.flatMap((part, line) => ('attempt' in part ? [[part.attempt, line]] : [])));
  if (open) lines.set(open, parts.length);
  const attempts = keepFitting(
    run.steps.flatMap(({ number, attempts: tried }) =>
      tried.map((attempt) => writeAttempt(run, attempt, { step: number + 1, line: lines.get(attempt), open })),
    ),
    MAX_BYTES.attempts,
  );
  const tools = keepFitting(
    (run.toolLoop?.calls ?? []).map((call) => writeToolCall(run, call)),
    MAX_BYTES.tools,
  );
  const stages = keepFitting(run.stages.filter(isShown).map(writeStage), MAX_BYTES.stages);
  const omitted = {
    ...(attempts.omitted > 0 && { attempts: attempts.omitted }),
    ...(tools.omitted > 0 && { tools: tools.omitted }),
    ...(stages.omitted > 0 && { stages: stages.omitted }),
  };
  const message = findMessage(run);
  const history: RequestHistory = {
    ...(message !== undefined && { message }),
    ...(attempts.kept.length > 0 && { attempts: attempts.kept }),
    ...(tools.kept.length > 0 && { tools: tools.kept }),
    ...(stages.kept.length > 0 && { stages: stages.kept }),
    ...(Object.keys(omitted).length > 0 && { omitted }),
  };
  return JSON.stringify(history);
}

/** Whether the entry itself says it all. Decides for every request, so it only reads fields. */
function isUsual({ steps, stages, error, toolLoop }: AnyRun, open: Attempt | undefined): boolean {
  if (steps.length > 1 || stages.some(isShown) || (toolLoop?.calls.length ?? 0) > 0) return false;
  if (error !== undefined && error.kind !== 'client_closed') return false;
  const [attempt, ...others] = steps[0]?.attempts ?? [];
  if (attempt === undefined) return true;
  if (others.length > 0 || attempt.error !== undefined) return false;
  return attempt === open || (attempt.spent !== undefined && attempt.endpoint.provider.keys.size === 1);
}

/** Leaves out the stages of routers, because the entry names the router and the model. */
const isShown = ({ type }: StageRecord): boolean => type !== 'router';

/** @returns the message of the error, if no attempt has it */
function findMessage(run: RunBase): string | undefined {
  const { error } = run;
  return error && error.message !== lastAttemptOf(run)?.error?.message ? shorten(error.message) : undefined;
}

const shorten = (message: string): string => message.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed();

function writeAttempt(
  { startedAt }: RunBase,
  attempt: Attempt,
  { step, line, open }: { step: number; line: number | undefined; open: Attempt | undefined },
): AttemptRecord {
  const { endpoint, key, error, upstreamRequestId, dispatchedAt, firstOutputAt, endedAt } = attempt;
  const { provider, workspace } = endpoint;
  const name = key === undefined ? undefined : provider.keyNames[key];
  const { status, errorType } =
    attempt === open ? errorKinds.gateway_stopped : { status: attempt.status, errorType: error?.errorType };
  const sentAt = attempt === open ? performance.now() : dispatchedAt;
  const since = (at: number | undefined, from: number): number | undefined =>
    at === undefined ? undefined : Math.max(0, Math.round(at - from));
  const startMs = since(sentAt, startedAt);
  const firstByteMs = sentAt === undefined ? undefined : since(firstOutputAt, sentAt);
  // The entry is written before the client has the end, at which the attempt ends.
  const doneAt = attempt === open ? undefined : (endedAt ?? performance.now());
  const durationMs = sentAt === undefined ? undefined : since(doneAt && Math.max(doneAt, firstOutputAt ?? 0), sentAt);
  return {
    ...(step > 1 && { step }),
    ...(line === undefined
      ? {
          endpoint: {
            id: truncateName(endpoint.id),
            model: truncateName(endpoint.model),
            provider: provider.name,
            providerId: provider.id,
            ...(workspace !== undefined && { isByok: true }),
          },
        }
      : { line }),
    ...(name !== undefined && { key: name }),
    status,
    ...(errorType !== undefined && { errorType }),
    ...(error && { message: shorten(error.message) }),
    ...(upstreamRequestId !== undefined && { upstreamRequestId: truncateName(upstreamRequestId) }),
    ...(startMs !== undefined && { startMs }),
    ...(firstByteMs !== undefined && { firstByteMs }),
    ...(durationMs !== undefined && { durationMs }),
  };
}

function writeToolCall(
  { startedAt: runStartedAt }: RunBase,
  { tool, step, startedAt, endedAt, outcome }: NonNullable<Run['toolLoop']>['calls'][number],
): ToolRecord {
  return {
    ...(tool !== undefined && { tool: truncateName(tool) }),
    step: step + 1,
    outcome,
    startMs: Math.round(startedAt - runStartedAt),
    durationMs: Math.round(endedAt - startedAt),
  };
}

/** The fields of `data` that never have contents. */
const keptData = [
  'action',
  'decision',
  'side',
  'engine',
  'engines',
  'matched_entity_types',
  'result_count',
  'files',
  'pages',
  'reused',
  'urls',
  'bytes',
  'mode',
  'improved',
  'original_count',
  'compressed_count',
  'stop_reason',
  'server_label',
] as const;

function writeStage(stage: StageRecord & { guardrail_id?: string; guardrail_scope?: string }): HistoryStage {
  const { type, name, summary, guardrail_id, guardrail_scope, data = {}, cost_usd } = stage;
  const kept = keptData.flatMap((field) => {
    const value = shortenValue(data[field]);
    return value === undefined ? [] : [[field, value] as const];
  });
  return {
    type: truncateName(type),
    name: truncateName(name),
    ...(summary !== undefined && { summary: shorten(summary) }),
    ...(guardrail_id !== undefined && { guardrail_id }),
    ...(guardrail_scope !== undefined && { guardrail_scope }),
    ...(kept.length > 0 && { data: Object.fromEntries(kept) }),
    ...(cost_usd !== undefined && { cost_usd }),
  };
}

/** Maximum entries of a list in the data of a stage. */
const MAX_ENTRIES = 20;

/** @returns undefined for a value that is not kept */
function shortenValue(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value
      .slice(0, MAX_ENTRIES)
      .flatMap((entry: unknown) => (typeof entry === 'string' ? truncateName(entry) : []));
  }
  if (typeof value === 'string') return truncateName(value);
  return typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

/** Keeps the last record and as many of the first ones as fit. */
function keepFitting<Item>(records: readonly Item[], maxBytes: number) {
  const sizes = records.map((record) => Buffer.byteLength(JSON.stringify(record)) + 1);
  let kept = records;
  if (sizes.reduce((sum, size) => sum + size, 0) > maxBytes) {
    let left = maxBytes - sizes.at(-1)!; // there are some
    const first = records.filter((_, index) => {
      left -= sizes[index]!;
      return left >= 0;
    });
    kept = sizes.at(-1)! > maxBytes ? [] : [...first, records.at(-1)!];
  }
  return { kept, omitted: records.length - kept.length };
}
