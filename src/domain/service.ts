/** A request to a service that the operator has configured, such as a search engine. */
export interface ServiceRequest {
  /** For messages. */
  readonly name: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON with POST. Absent: GET. */
  readonly body?: object;
}

export interface ServiceLimits {
  /** Time limit of the whole exchange. */
  readonly timeoutMs: number;
  /** Maximum size of the response. */
  readonly maxBytes: number;
  /** Ends the exchange; its reason is then thrown. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Calls a service of the operator and parses its JSON. It follows no redirect, because the request has a secret.
 *
 * @throws {ServiceError} unless the response is a complete JSON body with a status of 2xx; the reason of the signal
 */
export type CallService = (request: ServiceRequest, limits: ServiceLimits) => Promise<unknown>;

/** `status`: the service has rejected the request. `malformed`: the body is not what its API promises. */
export type ServiceFailure = 'timeout' | 'unreachable' | 'interrupted' | 'too_large' | 'status' | 'malformed';

export interface ServiceErrorOptions {
  status?: number;
  retryAfterSeconds?: number | undefined;
  rejectsKey?: boolean;
}

/** A failed call of a service. The message never contains a secret, a path or text of the service. */
export class ServiceError extends Error {
  readonly reason: ServiceFailure;
  /** HTTP status. Undefined: there was no response. */
  readonly status: number | undefined;
  /** Whether the service rejects the key that the request has. */
  readonly rejectsKey: boolean;
  /** The wait that the service requests. Undefined: it requests none. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    message: string,
    reason: ServiceFailure,
    { status, retryAfterSeconds, rejectsKey = false }: ServiceErrorOptions = {},
  ) {
    super(message);
    this.name = 'ServiceError';
    this.reason = reason;
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
    this.rejectsKey = rejectsKey;
  }
}
