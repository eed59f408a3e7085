import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks'; // the global is a getter
import { Cancellation } from '../domain/cancellation.ts';
import { GatewayError } from '../domain/errors.ts';

/** Cancels a request when its client leaves or the deadline passes. */
export class ClientWatch {
  readonly cancellation = new Cancellation();
  private readonly raw: ServerResponse;
  private readonly deadlineMs: number;
  private readonly setting: string;
  private readonly timer: NodeJS.Timeout;
  private readonly onClose: () => void;

  /**
   * @param deadlineMs from now to 408
   * @param setting that says so
   */
  constructor(raw: ServerResponse, deadlineMs: number, setting = 'timeouts.request_ms') {
    this.raw = raw;
    this.deadlineMs = deadlineMs;
    this.setting = setting;
    this.timer = setTimeout(passDeadline, deadlineMs, this);
    this.cancellation.deadlineAt = performance.now() + deadlineMs;
    this.onClose = () => this.leave();
    raw.on('close', this.onClose);
    if (raw.closed) this.leave(); // while its admission was waited for
  }

  passDeadline(): void {
    const text = `The request took longer than ${this.deadlineMs} ms (${this.setting}).`;
    this.cancellation.cancel(new GatewayError('request_timeout', text));
  }

  /** The answer is complete: nothing fires any more. */
  stop(): void {
    clearTimeout(this.timer);
    this.raw.off('close', this.onClose);
  }

  private leave(): void {
    if (!this.raw.writableFinished) this.cancellation.cancel(new GatewayError('client_closed', 'The client left.'));
  }
}

const passDeadline = (watch: ClientWatch): void => watch.passDeadline();
