import type { FinishChunk } from '../../domain/chunks.ts';
import { currentTimeMs } from '../../domain/clock.ts';
import type { ResponseObject } from '../../domain/response.ts';
import { totalOf, writeUsage } from '../../metering/cost.ts';
import { chargesOf, sumCharges } from '../accounting/sum-charges.ts';
import { addInnerUsage } from '../accounting/sum-inner-runs.ts';
import { settleRun } from '../accounting/settle-run.ts';
import { createRouterMetadata } from '../run/router-metadata.ts';
import type { Run } from '../run/run.ts';
import { committedOf } from '../run/step.ts';
import type { BuilderContext } from './build-events.ts';
import { createResponseObject } from './response-object.ts';

/** Defines how the response object of a run begins and ends, for its event builder. */
export class RunContext implements BuilderContext {
  readonly limitBytes: number;
  private readonly run: Run;
  private readonly region: string;

  constructor(run: Run, region: string, limitBytes: number) {
    this.run = run;
    this.region = region;
    this.limitBytes = limitBytes;
  }

  now(): number {
    return Math.floor(currentTimeMs() / 1000);
  }

  base(): ResponseObject {
    const run = this.run;
    return createResponseObject(run.request, run.responseId, Math.floor(run.startedAtMs / 1000), this.model());
  }

  model(): string {
    const step = this.run.steps.at(-1);
    return step?.committed?.endpoint.model ?? step?.plan.requested ?? this.run.request.model ?? '';
  }

  settle(finish: FinishChunk | undefined) {
    settleRun(this.run);
    const { cost, innerRuns } = this.run;
    const usage = this.run.usage && addInnerUsage(this.run.usage, innerRuns);
    const isByok = committedOf(this.run)?.endpoint.workspace !== undefined;
    const inner = innerRuns.map((run) => run.cost);
    const charges = this.run.charges && chargesOf(this.run);
    const isUsed =
      usage &&
      cost &&
      (usage.totalTokens > 0 || charges !== undefined || [cost, ...inner].some((each) => totalOf(each) > 0n));
    const chargesNanoUsd = charges ? totalOf(sumCharges(charges)) : 0n;
    return {
      usage: isUsed
        ? writeUsage(usage, cost, { isByok, inner, chargesNanoUsd, toolUse: this.run.toolLoop?.use })
        : null,
      routerMetadata: createRouterMetadata(this.run, this.region),
      serviceTier: finish?.serviceTier || this.assumeTier(),
    };
  }

  /**
   * The tier of the endpoint. Without one, the provider used its default, unless the caller requested another tier:
   * choice 296.
   */
  private assumeTier(): string | null {
    const { tier } = committedOf(this.run)?.endpoint ?? {};
    const requested = this.run.request.service_tier ?? 'auto';
    return tier ?? (requested === 'auto' || requested === 'default' ? 'default' : null);
  }
}
