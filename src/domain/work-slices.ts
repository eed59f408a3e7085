/** Lets other work run, and then continues. */
export type NextTurn = () => Promise<unknown>;

/** Maximum duration of a slice, in milliseconds. */
const SLICE_MS = 5;

/** Divides long work into slices, so that it does not block the event loop. */
export class WorkSlices {
  private readonly nextTurn: NextTurn;
  private startedAt = performance.now();

  constructor(nextTurn: NextTurn) {
    this.nextTurn = nextTurn;
  }

  /** Whether the slice has taken long enough. */
  isOver(): boolean {
    return performance.now() - this.startedAt > SLICE_MS;
  }

  /** Waits for the next slice. */
  async next(): Promise<void> {
    await this.nextTurn();
    this.startedAt = performance.now();
  }
}
