import { performance } from 'node:perf_hooks'; // the global is a getter
import { isIncomplete } from '../domain/chunks.ts';
import { errorKinds } from '../domain/errors.ts';
import { addImageCounts } from '../domain/images.ts';
import type { EntryOrigin, LedgerEntry, LedgerLine, InFlightEntry } from '../domain/ledger-entry.ts';
import { type Cost, usage as emptyUsage, special, specialCounts, type Usage } from '../domain/usage.ts';
import { addCost, estimateUsage, totalOf } from '../metering/cost.ts';
import type { Endpoint } from '../providers/provider-entry.ts';
import { countResponseImages } from './response-images.ts';
import { truncateName } from './truncate-name.ts';
import type { AttemptRecord, Run, RunBase } from './run.ts';
import {
  costOfFailedAttempts,
  zeroCost,
  hasPricedImages,
  measureAttempt,
  priceAt,
  type AttemptCost,
} from './attempt-cost.ts';

/** Settles what a run used and cost, the attempts that failed before its answer included in the cost. */
export function settleRun(run: Run): void {
  if (run.cost) return;
  const { usage, cost, pictures: images } = measureResponse(run);
  run.usage = usage;
  run.pictures = images;
  run.cost = run.attempts.some(hasSpent) ? addCost(cost, costOfFailedAttempts(run)) : cost;
}

const hasSpent = ({ spent }: AttemptRecord): boolean => spent !== undefined;

/** What the attempt used and cost that answered; nothing when none did. */
function measureResponse(run: Run): AttemptCost {
  const { selected } = run;
  const images = selected?.image && run.builder && countResponseImages(selected, run.builder.items, run.sent.images);
  const isPriced = images && hasPricedImages(selected, images);
  const usage = selected && measureAttempt(run, run.builder?.producedLength ?? 0, isPriced);
  if (usage) return priceAt(run, selected, usage, images);
  // Of one who left before the first word nobody knows what the provider made of it.
  const left = run.error?.kind === 'client_closed' && run.dispatchedAt !== undefined;
  const nothing = emptyUsage({ inputTokens: 0, outputTokens: 0, estimated: left });
  if (selected && run.finish) return priceAt(run, selected, nothing, images);
  return { usage: nothing, cost: zeroCost, tier: selected?.tier ?? null };
}

/** The ledger's entry of a run that has ended, however it ended. */
export function createLedgerEntry(run: Run): LedgerEntry {
  settleRun(run);
  const entry = createBaseEntry(run, run.selected ?? run.attempts.findLast(hasSpent)?.endpoint, outcomeOf(run));
  if (run.finish?.serviceTier) entry.tier = truncateName(run.finish.serviceTier);
  if (run.attempts.some(hasSpent)) addAttempts(entry, run);
  return entry;
}

function outcomeOf({ builder, finish, error }: Run): LedgerEntry['outcome'] {
  if (error) return error.kind === 'client_closed' ? 'cancelled' : 'failed';
  if (!builder?.ended) return 'failed';
  return finish && isIncomplete(finish) ? 'incomplete' : 'completed';
}

/**
 * What any run that is settled is booked as.
 *
 * @param endpoint whose model and provider are told; undefined when none made anything
 */
export function createBaseEntry(
  run: RunBase,
  endpoint: Endpoint | undefined,
  outcome: LedgerEntry['outcome'],
): LedgerEntry {
  const { error, firstOutputAt, startedAt } = run;
  return {
    ...describeOrigin(run, endpoint),
    outcome,
    status: error?.status ?? 200,
    errorType: error?.errorType ?? null,
    ...writeUsage(run.usage!), // it is settled
    ...writeCost(run.cost!),
    ...(run.pictures && { pictures: run.pictures }),
    firstOutputMs: firstOutputAt === undefined ? null : Math.max(0, Math.round(firstOutputAt - startedAt)),
    durationMs: Math.round(performance.now() - startedAt),
  };
}

/**
 * What would be booked if the process died now: what earlier attempts used, and the input that goes out as an estimate.
 *
 * @param endpoint where it goes
 */
export function createInFlightEntry(run: Run, endpoint: Endpoint): InFlightEntry {
  const input = priceAt(run, endpoint, estimateUsage(run.sent.characters, 0));
  const before = listSpent(run);
  const cost = before.length > 0 ? addCost(input.cost, costOfFailedAttempts(run)) : input.cost;
  const underway: InFlightEntry = {
    ...describeOrigin(run, endpoint),
    inputTokens: before.reduce((sum, { inputTokens }) => sum + inputTokens, input.usage.inputTokens),
    outputTokens: before.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
    ...writeCost(cost),
  };
  if (before.length > 0) underway.lines = [...before, writeLine(endpoint, errorKinds.gateway_stopped.status, input)];
  return underway;
}

/** The attempts that broke off and cost something. */
const listSpent = ({ attempts }: Run): LedgerLine[] =>
  attempts.flatMap(({ endpoint, status, spent }) => (spent ? writeLine(endpoint, status, spent) : []));

/** @param endpoint whose model and provider are told; undefined when none made anything */
export function describeOrigin(run: RunBase, endpoint: Endpoint | undefined): EntryOrigin {
  // Of a run that nobody answered, the router that was asked first.
  const choice = endpoint ? run.plan?.choiceOf(endpoint) : run.plan?.choices[0];
  return {
    id: run.generationId,
    createdAtMs: run.startedAtMs,
    workspaceId: run.caller.workspaceId,
    keyHash: run.caller.keyHash,
    memberId: run.caller.memberId,
    requestedModel: truncateName(run.plan?.requested ?? run.request.model ?? run.request.models?.[0] ?? ''),
    router: choice && !choice.isAlias ? choice.router : null,
    task: choice?.task ?? null,
    model: endpoint?.model ?? null,
    provider: endpoint?.provider.name ?? null,
    providerId: endpoint?.provider.id ?? null,
    endpointId: endpoint?.id ?? null,
    tier: endpoint?.tier ?? null,
    isByok: endpoint?.workspace !== undefined,
    streamed: run.request.stream === true,
    sessionId: run.request.session_id ?? null,
    endUser: run.endUser ?? null,
  };
}

const writeUsage = (usage: Usage) => ({
  inputTokens: usage.inputTokens,
  cachedTokens: usage.cachedTokens,
  cacheWriteTokens: usage.cacheWriteTokens ?? 0,
  outputTokens: usage.outputTokens,
  reasoningTokens: usage.reasoningTokens,
  ...(usage.special && { special: usage.special }),
  upstreamCostNanoUsd: usage.upstreamCostNanoUsd ?? null,
  estimated: usage.estimated === true,
});

const writeCost = (cost: Cost) => ({
  costNanoUsd: totalOf(cost),
  inputCostNanoUsd: cost.inputNanoUsd,
  priced: cost.priced,
});

/** Makes the entry the sum of all attempts that used something; each is a line of it where there are several. */
function addAttempts(entry: LedgerEntry, run: Run): void {
  const lines = listSpent(run);
  if (run.selected) lines.push(writeLine(run.selected, run.attempts.at(-1)?.status ?? 200, measureResponse(run)));
  const sum = (read: (line: LedgerLine) => number | undefined) =>
    lines.reduce((total, line) => total + (read(line) ?? 0), 0);
  entry.inputTokens = sum((line) => line.inputTokens);
  entry.cachedTokens = sum((line) => line.cachedTokens);
  entry.cacheWriteTokens = sum((line) => line.cacheWriteTokens);
  entry.outputTokens = sum((line) => line.outputTokens);
  entry.reasoningTokens = sum((line) => line.reasoningTokens);
  const counts = special(Object.fromEntries(specialCounts.map((name) => [name, sum((line) => line.special?.[name])])));
  if (counts) entry.special = counts;
  const images = lines.flatMap((line) => line.pictures ?? []);
  if (images.length > 0) entry.pictures = images.reduce(addImageCounts);
  if (lines.some(({ upstreamCostNanoUsd }) => upstreamCostNanoUsd !== null)) {
    entry.upstreamCostNanoUsd = sum((line) => line.upstreamCostNanoUsd ?? 0);
  }
  entry.estimated = lines.some(({ estimated }) => estimated);
  if (lines.length > 1) entry.lines = lines;
  else entry.tier = lines[0]!.tier; // nobody answered, so it is the attempt's that was made
}

const writeLine = (
  endpoint: Endpoint,
  status: number,
  { usage, cost, tier, pictures: images }: AttemptCost,
): LedgerLine => ({
  kind: 'attempt',
  model: endpoint.model,
  provider: endpoint.provider.name,
  providerId: endpoint.provider.id,
  endpointId: endpoint.id,
  tier,
  isByok: endpoint.workspace !== undefined,
  status,
  ...writeUsage(usage),
  ...writeCost(cost),
  ...(images && { pictures: images }),
});
