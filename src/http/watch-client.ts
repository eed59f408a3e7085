import type { ServerResponse } from 'node:http';
import { GatewayError } from '../domain/errors.ts';

/** A signal that fires, with a GatewayError as its reason, when the client leaves or the deadline passes. */
export interface ClientWatch {
  readonly signal: AbortSignal;
  /** Ends the request from our side. */
  abort(reason: GatewayError): void;
  /** The answer is complete: nothing fires any more. */
  stop(): void;
}

/** @param deadlineMs from now to 408 */
export function watchClient(raw: ServerResponse, deadlineMs: number): ClientWatch {
  const controller = new AbortController();
  const onClose = (): void => {
    if (!raw.writableFinished) controller.abort(new GatewayError('client_closed', 'The client left.'));
  };
  raw.once('close', onClose);
  const deadline = setTimeout(() => {
    controller.abort(
      new GatewayError('request_timeout', `The request took longer than ${deadlineMs} ms (timeouts.request_ms).`),
    );
  }, deadlineMs);
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    stop() {
      clearTimeout(deadline);
      raw.off('close', onClose);
    },
  };
}
