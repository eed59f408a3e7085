import type { Cancellation } from '../../domain/cancellation.ts';
import type { GatewayError } from '../../domain/errors.ts';

/** Waits. @throws the reason of the cancellation when it occurs */
export function wait(ms: number, cancellation: Cancellation): Promise<void> {
  return new Promise((resolve, reject) => {
    if (cancellation.reason) return reject(cancellation.reason);
    const listener = {
      cancelled(reason: GatewayError) {
        clearTimeout(timer);
        reject(reason);
      },
    };
    const timer = setTimeout(() => {
      cancellation.remove(listener);
      resolve();
    }, ms);
    cancellation.add(listener);
  });
}
