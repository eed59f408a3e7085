import { type CancelListener, Cancellation } from './cancellation.ts';
import { GatewayError } from './errors.ts';

/** Cancels a part of the work on a request: with the request, or after a time limit. Dispose it when the part ends. */
export class ChildCancellation extends Cancellation implements Disposable {
  private readonly parent: Pick<Cancellation, 'add' | 'remove'>;
  private readonly listener: CancelListener;
  private readonly timer: NodeJS.Timeout;

  /** @param message of the error `request_timeout` when the time is over */
  constructor(parent: Pick<Cancellation, 'reason' | 'add' | 'remove'>, limitMs: number, message: string) {
    super();
    this.parent = parent;
    this.listener = { cancelled: (reason) => this.cancel(reason) };
    this.timer = setTimeout(() => this.cancel(new GatewayError('request_timeout', message)), limitMs);
    if (parent.reason) this.cancel(parent.reason);
    else parent.add(this.listener);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.timer);
    this.parent.remove(this.listener);
  }
}
