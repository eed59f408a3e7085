/** The origin of a request, from the edge. Times are of `performance.now()`. */
export interface Origin {
  /** `X-Request-Id`. */
  readonly requestId: string;
  /** Path of the route table. */
  readonly route: string;
  /** Arrival time, as observed by this process. */
  readonly receivedAt: number;
  /** Start time of its handler. */
  readonly handledAt: number;
  /** The header of that name, not validated. */
  readonly traceparent: string | undefined;
}
