/** The end of the time of a command. */
export class CommandDeadline implements Disposable {
  /** Resolves when the time is over, or when a signal is aborted. */
  readonly over: Promise<'timeout' | 'cancelled'>;
  private readonly watch = new AbortController();
  private readonly timer: NodeJS.Timeout;

  constructor(timeoutMs: number, signals: readonly AbortSignal[]) {
    const { promise, resolve } = Promise.withResolvers<'timeout' | 'cancelled'>();
    this.over = promise;
    this.timer = setTimeout(() => resolve('timeout'), timeoutMs);
    for (const signal of signals) {
      if (signal.aborted) resolve('cancelled');
      signal.addEventListener('abort', () => resolve('cancelled'), { signal: this.watch.signal });
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.timer);
    this.watch.abort();
  }
}
