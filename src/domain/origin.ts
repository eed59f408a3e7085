/** Whence a request came, as the edge tells it. Times are of `performance.now()`. */
export interface Origin {
  /** `X-Request-Id`. */
  readonly requestId: string;
  /** Since when it waits to be handled, as far as this process can tell. */
  readonly receivedAt: number;
  /** When its handler began. */
  readonly handledAt: number;
  /** The header of that name, unchecked. */
  readonly traceparent: string | undefined;
}
