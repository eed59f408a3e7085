import type { Cost } from './usage.ts';

/** Work of a plugin or a server tool that has its own price, before it is done. */
export interface PlannedCharge {
  /** The charged operation, such as `web_search`. It is the model in the ledger line of the charge. */
  readonly name: string;
  /** The service that does it, such as a search engine. It is the provider of that line. */
  readonly service: string;
  /** The price of one piece: a search, a page. */
  readonly unitNanoUsd: bigint;
  /** The most pieces that it can take. Their price is reserved. */
  readonly maxCount: number;
}

/** A charge of a run. Pending until it is settled. */
export class Charge implements PlannedCharge {
  readonly name: string;
  readonly service: string;
  readonly unitNanoUsd: bigint;
  readonly maxCount: number;
  /** Number of attempts that were sent before it. */
  readonly attemptsBefore: number;
  /** Number of pieces done. Undefined while it is pending. */
  private done: number | undefined;

  constructor({ name, service, unitNanoUsd, maxCount }: PlannedCharge, attemptsBefore: number) {
    this.name = name;
    this.service = service;
    this.unitNanoUsd = unitNanoUsd;
    this.maxCount = maxCount;
    this.attemptsBefore = attemptsBefore;
  }

  /** Ends the charge. @param count number of pieces done; 0 if the work failed */
  settle(count: number): void {
    this.done ??= count;
  }

  /** Whether the work is not done yet. */
  get isPending(): boolean {
    return this.done === undefined;
  }

  /** Number of pieces done so far. */
  get count(): number {
    return this.done ?? 0;
  }

  /** Its cost so far. */
  get nanoUsd(): bigint {
    return BigInt(this.count) * this.unitNanoUsd;
  }

  /** Its cost so far in dollars, for a stage. */
  get usd(): number {
    return Number(this.nanoUsd) / 1e9;
  }

  /** Its cost, or its maximum cost while it is pending. */
  get maxNanoUsd(): bigint {
    return BigInt(this.done ?? this.maxCount) * this.unitNanoUsd;
  }
}

/** Name of the charge for a web search. Its count is reported as `web_search_requests`. */
export const WEB_SEARCH = 'web_search';

/** Returns the cost of charges with the given total. */
export const costOfCharges = (nanoUsd: bigint): Cost => ({
  inputNanoUsd: 0n,
  outputNanoUsd: 0n,
  toolsNanoUsd: nanoUsd,
  priced: true,
});
