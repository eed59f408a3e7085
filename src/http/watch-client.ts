import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks'; // the global is a getter
import { Cancellation } from '../domain/cancellation.ts';
import { GatewayError } from '../domain/errors.ts';

/** The deadline of a request and its setting. */
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
    const onClose = () => this.disconnect(); // see tests/architecture/request-garbage.test.ts
    this.onClose = onClose;
    raw.on('close', onClose);
    if (raw.closed) this.disconnect(); // disconnected during admission
  }

  passDeadline(): void {
    const text = `The request took longer than ${this.deadline.ms} ms (${this.deadline.setting}).`;
    this.cancellation.cancel(new GatewayError('request_timeout', text));
  }

  /** Stops the watch after the end of the response. */
  stop(): void {
    clearTimeout(this.timer);
    this.raw.off('close', this.onClose);
  }

  private disconnect(): void {
    if (!this.raw.writableFinished)
      this.cancellation.cancel(new GatewayError('client_closed', 'The client disconnected.'));
  }
}

const passDeadline = (watch: ClientWatch): void => watch.passDeadline();
