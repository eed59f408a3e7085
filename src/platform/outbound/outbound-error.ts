/**
 * All reasons why a fetch can fail: reason → the message for the caller, after the place of the URL. An unknown name
 * and a name that resolves to a private address have the same reason. Otherwise a caller could use the difference to
 * map the network.
 */
const outboundReasons = {
  invalid_url: 'It is not a valid URL.',
  unsupported_scheme: 'Only http and https URLs are fetched.',
  has_credentials: 'A URL with a user name or a password is not fetched.',
  blocked_port: 'The gateway does not fetch from that port.',
  blocked_address: 'The gateway does not fetch from that host.',
  unresolvable: 'Its host was not found.',
  unreachable: 'Its host did not accept a connection.',
  insecure: 'Its host has no valid certificate.',
  insecure_redirect: 'It redirects from https to http.',
  too_many_redirects: 'It has too many redirects.',
  timeout: 'It did not arrive in time.',
  not_found: 'It does not exist.',
  bad_status: 'Its host refused it.',
  encoded: 'Its host sent it compressed, which the gateway does not accept.',
  broken_answer: 'Its host disconnected, or sent invalid HTTP.',
  empty: 'It is empty.',
  too_large: 'It is too large.',
} as const;

export type OutboundReason = keyof typeof outboundReasons;

/** The reason why nothing was fetched. The message is for the caller, `detail` only for the operator. */
export class OutboundError extends Error {
  readonly reason: OutboundReason;
  readonly detail: string | undefined;
  /** The HTTP status, if it is the reason. */
  readonly status: number | undefined;

  constructor(
    reason: OutboundReason,
    detail?: string,
    { message = outboundReasons[reason], status }: { message?: string; status?: number } = {},
  ) {
    super(message);
    this.name = 'OutboundError';
    this.reason = reason;
    this.detail = detail;
    this.status = status;
  }
}
