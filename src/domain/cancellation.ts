import type { GatewayError } from './errors.ts';

/** Called once, when the cancellation happens. */
export interface CancelListener {
  cancelled(reason: GatewayError): void;
}

/**
 * Cancels everything that works on a request. Listeners inside the gateway use this instead of an `AbortSignal`, which
 * costs several µs to create, to listen to and to collect. A signal is created only if something asks for it.
 */
export class Cancellation {
  /** The reason. Undefined: it is not cancelled. */
  reason: GatewayError | undefined;
  /** When the deadline cancels, as of performance.now(); undefined: there is none. */
  deadlineAt: number | undefined;
  private listeners: CancelListener[] | undefined;
  private controller: AbortController | undefined;

  /** Only the first call has an effect. */
  cancel(reason: GatewayError): void {
    if (this.reason) return;
    this.reason = reason;
    this.controller?.abort(reason);
    const { listeners = [] } = this;
    this.listeners = undefined;
    for (const listener of listeners) listener.cancelled(reason);
  }

  add(listener: CancelListener): void {
    if (this.listeners) this.listeners.push(listener);
    else this.listeners = [listener]; // most have one; a list that grows has capacity for 17
  }

  remove(listener: CancelListener): void {
    const at = this.listeners?.indexOf(listener) ?? -1;
    if (at !== -1) this.listeners?.splice(at, 1);
  }

  /** The same for APIs of the platform. */
  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.reason) this.controller.abort(this.reason);
    }
    return this.controller.signal;
  }
}
