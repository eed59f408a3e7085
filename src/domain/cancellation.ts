import type { GatewayError } from './errors.ts';

/** Told once, when a cancellation comes. */
export interface CancelListener {
  cancelled(reason: GatewayError): void;
}

/**
 * Tells everybody who works on a request that it is to end. It does what an `AbortSignal` does for listeners inside the
 * gateway; a real one costs several µs to make, to listen to and to collect, so it is made only for whoever asks.
 */
export class Cancellation {
  /** Why; undefined until then. */
  reason: GatewayError | undefined;
  private listeners: CancelListener[] = [];
  private controller: AbortController | undefined;

  /** The first reason counts. */
  cancel(reason: GatewayError): void {
    if (this.reason) return;
    this.reason = reason;
    this.controller?.abort(reason);
    for (const listener of this.listeners.splice(0)) listener.cancelled(reason);
  }

  add(listener: CancelListener): void {
    this.listeners.push(listener);
  }

  remove(listener: CancelListener): void {
    const at = this.listeners.indexOf(listener);
    if (at !== -1) this.listeners.splice(at, 1);
  }

  /** The same for interfaces of the platform. */
  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.reason) this.controller.abort(this.reason);
    }
    return this.controller.signal;
  }
}
