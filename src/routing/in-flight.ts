/** Counts the attempts in flight of each endpoint in this process. */
export class InFlight {
  /** Endpoint → attempts. Endpoints without attempts are absent, so that the map stays small. */
  private readonly attempts = new Map<string, number>();

  /** Bound, because it is passed as a function. */
  readonly count = (id: string): number => this.attempts.get(id) ?? 0;

  begin(id: string): void {
    this.attempts.set(id, this.count(id) + 1);
  }

  end(id: string): void {
    const left = this.count(id) - 1;
    if (left > 0) this.attempts.set(id, left);
    else this.attempts.delete(id);
  }
}
