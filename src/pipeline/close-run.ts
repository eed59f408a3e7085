import { performance } from 'node:perf_hooks'; // the global is a getter
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import { type Cost, usage as emptyUsage, isCredible, type Usage } from '../domain/usage.ts';
import { costOf, estimateUsage, totalOf } from '../metering/cost.ts';
import { pricesOfTier } from '../metering/price.ts';
import { Needs } from '../routing/needs.ts';
import { unparkInput } from './park-input.ts';
import type { Run } from './run.ts';

/**
 * Settles what a run used and cost: as the provider reported it, or, when output was made and nothing credible was
 * reported, as an estimate that says so.
 */
export function settleRun(run: Run): void {
  if (run.cost) return;
  const reported = run.finish?.usage;
  run.usage = reported && isCredible(reported) ? reported : estimate(run);
  const { selected } = run;
  if (!selected || run.plan?.choiceOf(selected)?.isFree) {
    run.cost = free;
    return;
  }
  const pricing = pricesOfTier(selected, run.finish?.serviceTier);
  if (pricing?.imageNanoUsd) countImages(run, run.usage);
  run.cost = costOf(pricing, run.usage);
}

/** Where each picture has its price: no provider says how many it read. */
function countImages(run: Run, usage: Usage): void {
  unparkInput(run);
  const { images } = new Needs(run.request);
  if (images > 0) usage.special = { ...usage.special, inputImages: images };
}

/** Nobody answered, so there is nothing to price. */
const free: Cost = { inputNanoUsd: 0n, outputNanoUsd: 0n, priced: true };

/** What was made and not counted; nothing after a failure, a guess of nothing for one who left before the first word. */
function estimate(run: Run): Usage {
  const produced = run.builder?.producedLength ?? 0;
  if (produced > 0) {
    unparkInput(run);
    const { instructions, input, tools } = run.request;
    return estimateUsage(JSON.stringify([instructions, input, tools]).length, produced);
  }
  const left = run.error?.kind === 'client_closed' && run.dispatchedAt !== undefined;
  return emptyUsage({ inputTokens: 0, outputTokens: 0, estimated: left });
}

/** The ledger's entry of a run that has ended, however it ended. */
export function writeLedgerEntry(run: Run): LedgerEntry {
  settleRun(run);
  const { usage, cost, error } = run;
  // Of a run that nobody answered, the router that was asked first.
  const choice = run.selected ? run.plan?.choiceOf(run.selected) : run.plan?.choices[0];
  const reachedEnd = run.builder?.ended === true && error === undefined;
  const entry: LedgerEntry = {
    id: run.generationId,
    createdAtMs: run.startedAtMs,
    workspaceId: run.caller.workspaceId,
    keyHash: run.caller.keyHash,
    memberId: run.caller.memberId,
    requestedModel: run.plan?.requested ?? run.request.model ?? run.request.models?.[0] ?? '',
    router: choice && !choice.isAlias ? choice.router : null,
    task: choice?.task ?? null,
    model: run.selected?.model ?? null,
    provider: run.selected?.provider.name ?? null,
    providerId: run.selected?.provider.id ?? null,
    endpointId: run.selected?.id ?? null,
    tier: run.finish?.serviceTier ?? run.selected?.tier ?? null,
    isByok: run.selected?.workspace !== undefined,
    outcome: reachedEnd
      ? run.finish?.reason === 'length' || run.finish?.reason === 'content_filter'
        ? 'incomplete'
        : 'completed'
      : error?.kind === 'client_closed'
        ? 'cancelled'
        : 'failed',
    status: error?.status ?? 200,
    errorType: error?.errorType ?? null,
    streamed: run.request.stream === true,
    inputTokens: usage!.inputTokens,
    cachedTokens: usage!.cachedTokens,
    cacheWriteTokens: usage!.cacheWriteTokens ?? 0,
    outputTokens: usage!.outputTokens,
    reasoningTokens: usage!.reasoningTokens,
    costNanoUsd: totalOf(cost!),
    inputCostNanoUsd: cost!.inputNanoUsd,
    priced: cost!.priced,
    upstreamCostNanoUsd: usage!.upstreamCostNanoUsd ?? null,
    estimated: usage!.estimated === true,
    firstOutputMs:
      run.firstOutputAt === undefined ? null : Math.round(performance.timeOrigin + run.firstOutputAt - run.startedAtMs),
    durationMs: Math.max(0, Date.now() - run.startedAtMs),
    sessionId: run.request.session_id ?? null,
    endUser: run.endUser ?? null,
  };
  if (usage!.special) entry.special = usage!.special;
  return entry;
}
