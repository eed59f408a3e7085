/** Lets other work run, and then continues. */
export type NextTurn = () => Promise<unknown>;

/**
 * Work that can pause wherever it yields. It yields the units of work that it has done since it last yielded. A unit takes
 * less than half a microsecond: one look at an item or a field.
 */
export type SlicedWork<Result> = Generator<number, Result, void>;

/** Units of work between two pauses. */
export const WORK_PER_SLICE = 5_000;

/** Does the work for one request in slices, so that it does not block the event loop, however long its input is. */
export class WorkSlices {
  private readonly nextTurn: NextTurn;
  private readonly cancellation: { readonly reason?: Error | undefined };
  /** Units of work since the last pause. */
  private done = 0;

  constructor(nextTurn: NextTurn, cancellation: { readonly reason?: Error | undefined }) {
    this.nextTurn = nextTurn;
    this.cancellation = cancellation;
  }

  /** @throws the reason of the cancellation at the next pause */
  async run<Result>(work: SlicedWork<Result>): Promise<Result> {
    for (;;) {
      const { done, value } = work.next();
      if (done) return value;
      this.done += value;
      if (this.done < WORK_PER_SLICE) continue;
      await this.nextTurn();
      this.done = 0;
      if (this.cancellation.reason) throw this.cancellation.reason;
    }
  }
}
