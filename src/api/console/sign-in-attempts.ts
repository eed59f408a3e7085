import { GatewayError } from '../../domain/errors.ts';

const WINDOW_MS = 60_000;
/** Failed attempts of one address in a window. */
const MAX_FAILURES = 20;
/** Addresses with failed attempts in a window. */
const MAX_ADDRESSES = 10_000;

/** Limits the failed attempts to sign in. */
export class SignInAttempts {
  private readonly failures = new Map<string, number>();
  private startedAt = performance.now();

  /** Counts an attempt as failed, so that concurrent attempts cannot exceed the limit. @throws {GatewayError} `rate_limited` */
  begin(address = ''): void {
    const age = performance.now() - this.startedAt;
    if (age >= WINDOW_MS) {
      this.failures.clear();
      this.startedAt = performance.now();
    }
    const count = this.failures.get(address) ?? 0;
    const isFull = count === 0 && this.failures.size >= MAX_ADDRESSES;
    if (isFull || count >= MAX_FAILURES) {
      throw new GatewayError('rate_limited', 'Too many attempts to sign in have failed; try again later.', {
        retryAfterSeconds: Math.ceil(Math.max(1, (WINDOW_MS - age) / 1000)),
      });
    }
    this.failures.set(address, count + 1);
  }

  /** Counts an attempt no more: it has not failed because of its key. */
  forget(address = ''): void {
    const count = this.failures.get(address) ?? 0;
    if (count > 1) this.failures.set(address, count - 1);
    else this.failures.delete(address);
  }
}
