import type { Cancellation } from './cancellation.ts';
import type { GatewayError } from './errors.ts';

/** Waits for work that may ignore the cancellation. @throws the reason of the cancellation when it occurs */
export function untilCancelled<Value>(
  work: Promise<Value>,
  cancellation: Pick<Cancellation, 'reason' | 'add' | 'remove'>,
): Promise<Value> {
  if (cancellation.reason) {
    work.catch(() => {}); // its result is no longer of use
    return Promise.reject(cancellation.reason);
  }
  return new Promise((resolve, reject) => {
    const listener = { cancelled: (reason: GatewayError) => reject(reason) };
    cancellation.add(listener);
    work.then(resolve, reject).finally(() => cancellation.remove(listener));
  });
}
