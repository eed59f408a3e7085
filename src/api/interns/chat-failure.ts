import { asGatewayError, type ErrorKind, GatewayError, type GatewayErrorOptions } from '../../domain/errors.ts';
import type { ErrorDialect } from '../../http/error-dialect.ts';
import { writeErrorEnvelope } from '../../http/error-envelope.ts';
import { RunError, type RunProblem } from '../../interns/runtime/run-error.ts';

/** `metadata.reason` of errors of the chat API. @see docs/reference/intern-chat.md#errors */
export type ChatReason =
  | RunProblem
  | 'not_found'
  | 'intern_not_ready'
  | 'intern_not_running'
  | 'intern_needs_restart'
  | 'payload_too_large'
  | 'rate_limited';

const reasons: Record<ChatReason, { status: number; kind: ErrorKind; retryable: boolean }> = {
  bad_request: { status: 400, kind: 'invalid_request', retryable: false },
  not_found: { status: 404, kind: 'not_found', retryable: false },
  interaction_unknown: { status: 404, kind: 'not_found', retryable: false },
  intern_not_ready: { status: 409, kind: 'conflict', retryable: true },
  intern_not_running: { status: 409, kind: 'conflict', retryable: true },
  intern_needs_restart: { status: 409, kind: 'conflict', retryable: false },
  busy: { status: 409, kind: 'conflict', retryable: true },
  interaction_not_pending: { status: 409, kind: 'conflict', retryable: false },
  attachment_failed: { status: 410, kind: 'conflict', retryable: false },
  run_ended: { status: 410, kind: 'conflict', retryable: false },
  payload_too_large: { status: 413, kind: 'payload_too_large', retryable: false },
  rate_limited: { status: 429, kind: 'rate_limited', retryable: true },
  intern_unreachable: { status: 502, kind: 'service_unreachable', retryable: true },
  intern_rejected: { status: 502, kind: 'service_unreachable', retryable: false },
  stream_severed: { status: 502, kind: 'service_unreachable', retryable: true },
  turn_failed: { status: 502, kind: 'service_unreachable', retryable: false },
  timeout: { status: 504, kind: 'upstream_timeout', retryable: true },
};

/** Seconds after which a request that failed can be retried, unless the error says more. */
const RETRY_AFTER = 5;

export interface ChatErrorOptions extends Pick<GatewayErrorOptions, 'retryAfterSeconds' | 'loggedMessage' | 'cause'> {
  /** Absent: as the reason says. */
  retryable?: boolean;
  /** Replaces the kind of the reason, for requests with another status. */
  kind?: 'conflict' | 'unavailable';
}

/** Creates an error of the chat API. */
export function createChatError(reason: ChatReason, message: string, options: ChatErrorOptions = {}): GatewayError {
  const known = reasons[reason];
  const { retryable = known.retryable, kind = known.kind, ...rest } = options;
  return new GatewayError(kind, message, {
    ...(reason === 'busy' && { retryAfterSeconds: RETRY_AFTER }),
    ...rest,
    metadata: { reason, retryable },
  });
}

/** Converts the failure of a run. */
export const readRunError = (error: unknown): GatewayError =>
  error instanceof RunError
    ? createChatError(error.problem, error.message, {
        retryable: error.retryable || reasons[error.problem].retryable,
        cause: error,
      })
    : asGatewayError(error);

/** The `error` object of a response and of a chunk. */
export interface ChatFailure {
  code: number;
  message: string;
  metadata?: { reason: string; retryable: boolean };
}

/** Statuses that an error keeps if its reason has another one. */
const ownStatuses: ReadonlySet<number> = new Set([408, 409, 503]);

/** Describes an error as the chat API does. 401, 403, the 404 of a route and errors of the gateway itself have no reason. */
export function describeChatFailure(error: GatewayError): ChatFailure {
  const { message } = error;
  const reason = readReason(error);
  if (!reason) return { code: error.status, message };
  const { status, kind, retryable } = reasons[reason];
  const said = error.metadata['retryable'];
  return {
    code: error.kind !== kind && ownStatuses.has(error.status) ? error.status : status,
    message,
    metadata: { reason, retryable: typeof said === 'boolean' ? said : retryable },
  };
}

function readReason(error: GatewayError): ChatReason | undefined {
  const named = error.metadata['reason'];
  if (typeof named === 'string' && Object.hasOwn(reasons, named)) return named as ChatReason; // checked
  switch (error.status) {
    case 400:
    case 415:
      return 'bad_request';
    case 408:
      return 'timeout';
    case 413:
      return 'payload_too_large';
    case 429:
      return 'rate_limited';
    case 503: // the store, the memory for bodies, or a shutdown
      return 'busy';
    default:
      return undefined;
  }
}

/** The error dialect of the chat API. */
export const writeInternChatError: ErrorDialect = (thrown) => {
  const error = asGatewayError(thrown);
  const failure = describeChatFailure(error);
  const { headers, body } = writeErrorEnvelope(error); // those of rate limits
  const { type, param } = body.error;
  const retryAfter = error.retryAfterSeconds ?? (failure.metadata?.retryable ? RETRY_AFTER : undefined);
  if (retryAfter !== undefined) headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfter)));
  return { status: failure.code, headers, body: { error: { ...failure, type, param } } };
};
