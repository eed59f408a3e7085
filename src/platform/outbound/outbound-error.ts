/**
 * Every way a fetch can fail: reason → what a caller may be told, after the place of the address. A name that is not
 * known and one that leads to a private address are the same reason: who could tell them apart could map the network.
 */
const outboundReasons = {
  invalid_url: 'It is no valid URL.',
  unsupported_scheme: 'Only http and https addresses are fetched.',
  has_credentials: 'An address that holds a user name or a password is not fetched.',
  blocked_port: 'The gateway does not fetch from that port.',
  blocked_address: 'The gateway does not fetch from that host.',
  unresolvable: 'Its host was not found.',
  unreachable: 'Its host did not accept a connection.',
  insecure: 'Its host showed no valid certificate.',
  insecure_redirect: 'It leads from https to http.',
  too_many_redirects: 'It is redirected too often.',
  timeout: 'It was not there in time.',
  not_found: 'There is nothing there.',
  bad_status: 'Its host did not give it out.',
  encoded: 'Its host sent it compressed, although it was asked not to.',
  broken_answer: 'Its host broke off, or gave an answer that is not proper HTTP.',
  empty: 'It is empty.',
  too_large: 'It is too large.',
} as const;

export type OutboundReason = keyof typeof outboundReasons;

/** Why nothing was fetched. The message may be told to whoever sent the address, `detail` to the operator alone. */
export class OutboundError extends Error {
  readonly reason: OutboundReason;
  readonly detail: string | undefined;

  constructor(reason: OutboundReason, detail?: string, message: string = outboundReasons[reason]) {
    super(message);
    this.name = 'OutboundError';
    this.reason = reason;
    this.detail = detail;
  }
}
