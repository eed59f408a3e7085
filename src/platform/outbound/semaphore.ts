/** Limits parallel work. Waiters get slots in their order of arrival. */
export class Semaphore {
  private readonly count: () => number;
  private taken = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(count: () => number) {
    this.count = count;
  }

  /**
   * @returns a disposable that frees the slot
   * @throws the reason of the signal, if it is aborted first
   */
  take(signal?: AbortSignal): Promise<Disposable> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => {
        this.waiting.splice(this.waiting.indexOf(enter), 1);
        reject(signal!.reason);
      };
      const enter = () => {
        signal?.removeEventListener('abort', abort);
        this.taken++;
        resolve({ [Symbol.dispose]: () => this.leave() });
      };
      if (this.taken < this.count()) return enter();
      this.waiting.push(enter);
      signal?.addEventListener('abort', abort);
    });
  }

  private leave(): void {
    this.taken--;
    if (this.taken < this.count()) this.waiting.shift()?.();
  }
}
