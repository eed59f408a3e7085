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

  /** @throws {GatewayError} `rate_limited` */
  check(address = ''): void {
    const age = performance.now() - this.startedAt;
    if (age >= WINDOW_MS) {
      this.failures.clear();
      this.startedAt = performance.now();
    }
    const isFull = this.failures.size >= MAX_ADDRESSES && !this.failures.has(address);
    if (!isFull && (this.failures.get(address) ?? 0) < MAX_FAILURES) return;
    throw new GatewayError('rate_limited', 'Too many attempts to sign in have failed; try again later.', {
      retryAfterSeconds: Math.ceil(Math.max(1, (WINDOW_MS - age) / 1000)),
    });
  }

  fail(address = ''): void {
    this.failures.set(address, (this.failures.get(address) ?? 0) + 1);
  }
}
