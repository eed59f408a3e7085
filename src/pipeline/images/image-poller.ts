import type { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { Poll } from '../../providers/image-wire.ts';
import type { Provider } from '../../providers/provider.ts';
import type { Upstream, UpstreamResponse } from '../../providers/transport.ts';
import type { Wire } from '../../providers/wire.ts';
import { readFailure, upstreamOf } from '../attempts/exchange.ts';
import { wait } from '../steps/wait.ts';

/** Minimum wait between two polls, in milliseconds. */
const MIN_WAIT_MS = 50;

/** Maximum wait between two polls: a day. */
const MAX_WAIT_SECONDS = 86_400;

/**
 * Maximum consecutive transient failures of a poll. The provider generates the image, and charges for it, regardless.
 */
const MAX_FAILED_POLLS = 3;

/** The address of a poll. */
interface PollTarget {
  upstream: Upstream;
  path: string;
  method: 'GET' | 'POST';
}

/** Polls a provider for an image that it is generating. */
export class ImagePoller {
  private readonly provider: Provider;
  private readonly cancellation: Cancellation;
  private readonly readError: Wire['readError'];
  private readonly headers: readonly string[];
  private last: PollTarget | undefined;

  constructor(
    provider: Provider,
    cancellation: Cancellation,
    readError: Wire['readError'],
    headers: readonly string[],
  ) {
    this.provider = provider;
    this.cancellation = cancellation;
    this.readError = readError;
    this.headers = headers;
  }

  /** Waits, then polls. Polls a busy provider again later. @throws {GatewayError} if it cannot be polled */
  async poll(poll: Poll): Promise<UpstreamResponse> {
    this.last = this.findTarget(poll);
    const { upstream, path, method } = this.last;
    let waitMs = Math.max(MIN_WAIT_MS, poll.afterMs);
    for (let failures = 0; ; failures++) {
      await wait(waitMs, this.cancellation);
      waitMs *= 2;
      const isLast = failures === MAX_FAILED_POLLS;
      try {
        const response = await upstream.send(path, this.headers, Buffer.alloc(0), this.cancellation, { method });
        if (isLast || (response.status !== 429 && response.status < 500)) return response;
        waitMs = Math.max(waitMs, await this.readWait(response));
      } catch (error) {
        if (isLast || !(error instanceof GatewayError) || !error.retryable) throw error;
      }
    }
  }

  /** @throws {GatewayError} if the URL is at a host that is not the provider's */
  private findTarget({ method = 'GET', path, url }: Poll): PollTarget {
    if (url === undefined) {
      if (path === undefined && this.last) return { ...this.last, method };
      return { upstream: upstreamOf(this.provider), path: path ?? '', method };
    }
    const target = URL.canParse(url) ? new URL(url) : undefined;
    const upstream = target && this.provider.upstreamOf(target);
    if (upstream) return { upstream, path: target.pathname + target.search, method };
    const text = `${this.provider.name} wants to be polled at another host; the key does not go there.`;
    throw new GatewayError('upstream_failed', text, { retryable: true });
  }

  /** Returns the wait in milliseconds that the provider requests, or 0. The deadline of the run ends every wait. */
  private async readWait(response: UpstreamResponse): Promise<number> {
    try {
      const { retryAfterSeconds = 0 } = await readFailure(response, this.readError);
      return Math.min(retryAfterSeconds, MAX_WAIT_SECONDS) * 1000;
    } finally {
      response.release();
    }
  }
}
