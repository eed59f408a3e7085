import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks'; // the global is a getter
import { Cancellation } from '../domain/cancellation.ts';
import { GatewayError } from '../domain/errors.ts';

/** How long a request may take, and the setting that says so. */
export interface Deadline {
  ms: number;
  setting: string;
}

/** Cancels a request when its client disconnects or the deadline passes. */
export class ClientWatch {
  readonly cancellation = new Cancellation();
  private readonly raw: ServerResponse;
  private readonly deadline: Deadline;
  private readonly timer: NodeJS.Timeout;
  private readonly onClose: () => void;

  constructor(raw: ServerResponse, deadline: Deadline) {
    this.raw = raw;
    this.deadline = deadline;
    this.timer = setTimeout(passDeadline, deadline.ms, this);
    this.cancellation.deadlineAt = performance.now() + deadline.ms;
    this.onClose = () => this.leave();
    raw.on('close', this.onClose);
    if (raw.closed) this.leave(); // while its admission was waited for
  }

  passDeadline(): void {
    const text = `The request took longer than ${this.deadline.ms} ms (${this.deadline.setting}).`;
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
