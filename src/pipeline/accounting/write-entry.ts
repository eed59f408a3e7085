import { performance } from 'node:perf_hooks'; // the global is a getter
import { type Charge, costOfCharges } from '../../domain/charge.ts';
import { errorKinds } from '../../domain/errors.ts';
import {
  type EntryOrigin,
  type InFlightEntry,
  isSplit,
  type LedgerEntry,
  type LedgerLine,
} from '../../domain/ledger-entry.ts';
import type { Cost, Usage } from '../../domain/usage.ts';
import { addCost, totalOf } from '../../metering/cost.ts';
import { sumLines } from '../../metering/sum-lines.ts';
import type { Endpoint } from '../../providers/provider.ts';
import type { AttemptCost } from '../run/attempt.ts';
import { sumCosts } from './attempt-cost.ts';
import { chargesOf, sumCharges, usageOfCharges } from './sum-charges.ts';
import type { RunBase } from '../run/run.ts';
import { attemptsOf, committedOf, lastAttemptOf } from '../run/step.ts';
import { listSpentParts } from './spent-parts.ts';
import { writeHistory } from './write-history.ts';
import { truncateName } from '../../domain/truncate-name.ts';

/**
 * Creates the ledger entry of a settled run.
 *
 * @param endpoint that produced the output; undefined if none did
 */
export function writeEntry(run: RunBase, endpoint: Endpoint | undefined, outcome: LedgerEntry['outcome']): LedgerEntry {
  const { error, firstOutputAt, startedAt } = run;
  const images = committedOf(run)?.spent?.pictures;
  const usage = run.usage!; // it is settled
  const cost = run.cost!;
  // Fields are named, because a spread after another property copies key by key, ten times slower than a clone.
  const entry: LedgerEntry = {
    ...describeOrigin(run, endpoint),
    outcome,
    status: error?.status ?? 200,
    errorType: error?.errorType ?? null,
    inputTokens: usage.inputTokens,
    cachedTokens: usage.cachedTokens,
    cacheWriteTokens: usage.cacheWriteTokens ?? 0,
    outputTokens: usage.outputTokens,
    reasoningTokens: usage.reasoningTokens,
    upstreamCostNanoUsd: usage.upstreamCostNanoUsd ?? null,
    estimated: usage.estimated === true,
    costNanoUsd: totalOf(cost),
    inputCostNanoUsd: cost.inputNanoUsd,
    priced: cost.priced,
    firstOutputMs: firstOutputAt === undefined ? null : Math.max(0, Math.round(firstOutputAt - startedAt)),
    durationMs: Math.round(performance.now() - startedAt),
  };
  if (usage.special) entry.special = usage.special;
  if (images) entry.pictures = images;
  const history = writeHistory(run);
  if (history !== undefined) entry.history = history;
  return entry;
}

/**
 * Creates the entry that is recorded if the process dies now: the usage of earlier attempts, and the estimated input of
 * this one.
 *
 * @param endpoint of the attempt that is about to be sent
 * @param input the estimated usage and cost of its input
 */
export function writeInFlight(run: RunBase, endpoint: Endpoint, input: AttemptCost): InFlightEntry {
  const before = listSpent(run);
  const cost = before.length > 0 ? addCost(input.cost, sumSpent(run)) : input.cost;
  const inFlight: InFlightEntry = {
    ...describeOrigin(run, endpoint),
    inputTokens: before.reduce((sum, { inputTokens }) => sum + inputTokens, input.usage.inputTokens),
    outputTokens: before.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
    costNanoUsd: totalOf(cost),
    inputCostNanoUsd: cost.inputNanoUsd,
    priced: cost.priced,
  };
  if (before.length > 0) {
    inFlight.lines = [...before, writeLine('attempt', endpoint, errorKinds.gateway_stopped.status, input)];
  }
  const history = writeHistory(run, lastAttemptOf(run));
  if (history !== undefined) inFlight.history = history;
  return inFlight;
}

/**
 * Creates the entry that is recorded if the process dies between two attempts, while the work of a charge is done or
 * server tools run: everything so far, and the maximum price of pending charges as an estimate.
 */
export function writeSpentInFlight(run: RunBase): InFlightEntry {
  const pending = (run.charges ?? []).filter(({ isPending }) => isPending).map(writeCharge);
  const lines = [...listSpent(run), ...pending.map((line) => ({ ...line, estimated: true }))];
  const { inputTokens, outputTokens } = sumLines(lines);
  const last = committedOf(run);
  const history = writeHistory(run);
  return {
    ...describeOrigin(run, last?.endpoint),
    ...(last?.spent && { tier: last.spent.tier }),
    inputTokens,
    outputTokens,
    costNanoUsd: lines.reduce((total, { costNanoUsd }) => total + costNanoUsd, 0n),
    inputCostNanoUsd: lines.reduce((total, { inputCostNanoUsd }) => total + inputCostNanoUsd, 0n),
    priced: lines.every(({ priced }) => priced),
    lines,
    ...(history !== undefined && { history }),
  };
}

/** The cost of all attempts and charges so far. */
function sumSpent(run: RunBase): Cost {
  const cost = sumCosts(attemptsOf(run));
  const charges = run.charges && chargesOf(run);
  return charges ? addCost(cost, sumCharges(charges)) : cost;
}

/** A line for each attempt that used something, and for each charge. */
const listSpent = (run: RunBase): LedgerLine[] =>
  listSpentParts(run).map((part) =>
    'charge' in part
      ? writeCharge(part.charge)
      : writeLine(part.kind, part.attempt.endpoint, part.attempt.status, part.spent),
  );

/** Writes a charge, or its maximum. Its name is written as the model, and its service as the provider. */
const writeCharge = (charge: Charge): LedgerLine => ({
  kind: 'tool',
  model: charge.name,
  provider: charge.service,
  providerId: null,
  endpointId: null,
  tier: null,
  isByok: false,
  status: 200,
  ...writeUsage(usageOfCharges([charge])),
  ...writeCost(costOfCharges(charge.maxNanoUsd)),
});

/** @param endpoint that produced the output; undefined if none did */
function describeOrigin(run: RunBase, endpoint: Endpoint | undefined): EntryOrigin {
  // Without an endpoint, uses the router that was tried first.
  const plan = run.steps.at(-1)?.plan;
  const choice = endpoint ? plan?.choiceOf(endpoint) : plan?.choices[0];
  const origin: EntryOrigin = {
    id: run.generationId,
    createdAtMs: run.startedAtMs,
    workspaceId: run.caller.workspaceId,
    keyHash: run.caller.keyHash,
    memberId: run.caller.memberId,
    requestedModel: truncateName(plan?.requested ?? run.request.model ?? run.request.models?.[0] ?? ''),
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
  if (run.parent) origin.parentId = run.parent.generationId;
  if (run.tags) origin.tags = run.tags;
  return origin;
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

/**
 * Makes the entry the sum of all attempts with usage and of all charges. If there are several, each one is a line of
 * the entry. A charge always is.
 */
export function addAttempts(entry: LedgerEntry, run: RunBase): void {
  const lines = listSpent(run);
  const { upstreamCostNanoUsd, estimated, ...sums } = sumLines(lines);
  Object.assign(entry, sums);
  if (upstreamCostNanoUsd !== null) entry.upstreamCostNanoUsd = upstreamCostNanoUsd;
  entry.estimated ||= estimated;
  if (isSplit(lines)) entry.lines = lines;
}

const writeLine = (
  kind: LedgerLine['kind'],
  endpoint: Endpoint,
  status: number,
  { usage, cost, tier, pictures }: AttemptCost,
): LedgerLine => ({
  kind,
  model: endpoint.model,
  provider: endpoint.provider.name,
  providerId: endpoint.provider.id,
  endpointId: endpoint.id,
  tier,
  isByok: endpoint.workspace !== undefined,
  status,
  ...writeUsage(usage),
  ...writeCost(cost),
  ...(pictures && { pictures }),
});
