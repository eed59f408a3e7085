/** The origin of a request, from the edge. Times are of `performance.now()`. */
export interface Origin {
  /** `X-Request-Id`. */
  readonly requestId: string;
  /** When it arrived, as far as this process can tell. */
  readonly receivedAt: number;
  /** When its handler started. */
  readonly handledAt: number;
  /** The header of that name, not validated. */
  readonly traceparent: string | undefined;
}
