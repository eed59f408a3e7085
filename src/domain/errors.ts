import { docsUrl } from './docs-url.ts';

/**
 * All kinds of failures of a request: kind → HTTP status, `error_type` of the wire, and whether the same request may
 * succeed elsewhere or later. `docs/reference/errors.md` documents this table. A test compares the two.
 *
 * @see docs/reference/errors.md, docs/reference/errors.md#who-is-responsible
 */
export const errorKinds = {
  invalid_request: { status: 400, errorType: 'invalid_request', says: 'The request breaks a rule of the interface.' },
  model_not_found: { status: 400, errorType: 'invalid_request', says: 'No endpoint has the model.' },
  wrong_endpoint: {
    status: 400,
    errorType: 'invalid_request',
    says: 'The model exists, but not for this path: it makes only images, or none.',
  },
  not_offered: {
    status: 400,
    errorType: 'invalid_request',
    says: 'The interface has this field, but this build does not offer it.',
  },
  previous_response_not_found: {
    status: 400,
    errorType: 'invalid_request',
    says: 'The WebSocket does not keep the response that `previous_response_id` names.',
  },
  invalid_stream_id: {
    status: 400,
    errorType: 'invalid_request',
    says: 'The `stream_id` of a message of a WebSocket is malformed.',
  },
  stream_limit_reached: {
    status: 400,
    errorType: 'invalid_request',
    says: 'The WebSocket has too many different values of `stream_id`.',
  },
  connection_limit_reached: {
    status: 400,
    errorType: 'invalid_request',
    says: 'The WebSocket is too old, was idle for too long, or its gateway shuts down.',
  },
  context_length_exceeded: {
    status: 400,
    errorType: 'context_length_exceeded',
    says: "The input does not fit into the model's context.",
  },
  content_policy: { status: 400, errorType: 'content_policy_violation', says: 'The provider refused the content.' },
  upstream_rejected: { status: 400, errorType: 'invalid_request', says: 'The provider rejected the request.' },
  authentication: {
    status: 401,
    errorType: 'authentication',
    says: 'The key is missing, invalid, disabled or expired.',
  },
  payment_required: {
    status: 402,
    errorType: 'payment_required',
    says: 'The credits, the limit of the key or the budget of the organization are used up.',
  },
  permission_denied: {
    status: 403,
    errorType: 'permission_denied',
    says: 'The key lacks the permission, a guardrail blocks the content, or a budget of its workspace, member or guardrail is used up.',
  },
  not_found: { status: 404, errorType: 'not_found', says: 'The resource does not exist.' },
  model_unavailable: {
    status: 404,
    errorType: 'not_found',
    says: 'The model is not in the catalog, or its provider does not have it.',
  },
  method_not_allowed: { status: 405, errorType: 'invalid_request', says: 'The path exists, but not with this method.' },
  request_timeout: { status: 408, errorType: 'timeout', says: 'The deadline of the gateway passed.' },
  conflict: {
    status: 409,
    errorType: 'invalid_request',
    says: 'The name is taken, or the state of the object forbids the change.',
  },
  payload_too_large: {
    status: 413,
    errorType: 'payload_too_large',
    says: 'The body is larger than the limit of the gateway or of the provider.',
  },
  unsupported_media_type: {
    status: 415,
    errorType: 'invalid_request',
    says: 'The body of a request for interns is not JSON by its content type.',
  },
  range_not_satisfiable: {
    status: 416,
    errorType: 'invalid_request',
    says: 'The requested range is after the end of the file.',
  },
  expectation_failed: {
    status: 417,
    errorType: 'invalid_request',
    says: 'The `Expect` header asks for anything but `100-continue`.',
  },
  unprocessable: {
    status: 422,
    errorType: 'unprocessable',
    says: 'The body has the right shape but contradicts itself.',
  },
  upgrade_not_offered: {
    status: 426,
    errorType: 'invalid_request',
    says: 'A WebSocket was requested on a path that has none.',
  },
  upgrade_required: {
    status: 426,
    errorType: 'invalid_request',
    says: 'The path has only a WebSocket with this method.',
  },
  rate_limited: {
    status: 429,
    errorType: 'rate_limit_exceeded',
    says: 'Too many requests for a limit of the gateway or of the provider.',
  },
  headers_too_large: {
    status: 431,
    errorType: 'invalid_request',
    says: 'The headers are larger than 64 KiB, mostly because of cookies.',
  },
  client_closed: { status: 499, errorType: 'server', says: 'The client disconnected. Only in the ledger.' },
  internal: { status: 500, errorType: 'server', says: 'Internal error of the gateway.' },
  upstream_failed: {
    status: 502,
    errorType: 'provider_unavailable',
    says: 'The provider failed or returned invalid data.',
  },
  upstream_key_rejected: {
    status: 502,
    errorType: 'provider_unavailable',
    says: 'The provider rejects the key of the gateway, or the key is missing. The same request fails again.',
  },
  upstream_path_missing: {
    status: 502,
    errorType: 'provider_unavailable',
    says: 'The provider does not have the path: its `wire` or `base_url` is wrong. The same request fails again.',
  },
  service_unreachable: {
    status: 502,
    errorType: 'server',
    says: 'The vault or the runtime of an intern is unreachable. The same request may succeed later.',
  },
  gateway_stopped: {
    status: 503,
    errorType: 'gateway_stopped',
    says: 'The gateway stopped while it waited for the provider. Only in the ledger.',
  },
  unavailable: {
    status: 503,
    errorType: 'provider_overloaded',
    says: 'The gateway is shutting down or already reads too many files, or its store, its required moderation or its OCR service is unavailable.',
  },
  upstream_timeout: { status: 524, errorType: 'timeout', says: 'The provider was too slow.' },
  upstream_overloaded: {
    status: 529,
    errorType: 'provider_overloaded',
    says: 'The provider reports that it is overloaded.',
  },
} as const satisfies Record<string, { status: number; errorType: string; says: string }>;

export type ErrorKind = keyof typeof errorKinds;

/** Whether the operator must correct the configuration of the provider before the same request can succeed. */
export const isLastingFailure = ({ kind }: Pick<GatewayError, 'kind'>): boolean =>
  kind === 'upstream_path_missing' || kind === 'upstream_key_rejected';

/** The `error.code` of a failed response object: a closed list of the interface. */
export function responseErrorCode(errorType: string): string {
  switch (errorType) {
    case 'rate_limit_exceeded':
      return 'rate_limit_exceeded';
    case 'context_length_exceeded':
    case 'invalid_request':
      return 'invalid_prompt';
    case 'content_policy_violation':
      return 'image_content_policy_violation';
    case 'invalid_image':
    case 'image_too_large':
    case 'image_too_small':
      return errorType;
    case 'unsupported_image_format':
      return 'unsupported_image_media_type';
    case 'image_download_failed':
      return 'failed_to_download_image';
    case 'image_not_found':
      return 'image_file_not_found';
    default:
      return 'server_error';
  }
}

/** One problem of a body. `path` is a JSON path without the leading `$`: `input[3].content[0].text`. */
export interface Issue {
  path: string;
  message: string;
}

/**
 * Reasons why a model is unavailable: the codes of the interface that this build uses. Each has a heading in
 * `docs/reference/errors.md`.
 */
export const availabilityCodes = [
  'model_not_found',
  'wrong_endpoint',
  'no_endpoints',
  'constraint_filtered',
  'privacy_restricted',
  'model_unavailable_upstream',
  'capacity_exhausted',
  'temporarily_unavailable',
] as const;
export type AvailabilityCode = (typeof availabilityCodes)[number];

/** `error.availability` of the envelope. @see docs/reference/errors.md#errormetadata */
export interface Availability {
  code: AvailabilityCode;
  retryable: boolean;
  requested_models: string[];
  /** An absolute URL. */
  docs_url: string;
  /** Seconds. */
  retry_after?: number;
  affected_providers?: string[];
  excluded_by?: string[];
  fallback_models?: string[];
  constraint?: { field: string; detail: string };
}

/** @param slugs as in the request, of any number and length */
export const createAvailability = (
  code: AvailabilityCode,
  slugs: readonly string[],
  more: Partial<Availability> = {},
): Availability => ({
  code,
  retryable: false,
  requested_models: slugs.slice(0, 32).map(shortenSlug),
  docs_url: docsUrl(`reference/errors#${code}`),
  ...more,
});

/** Truncates a slug to the length that errors may contain. */
export const shortenSlug = (slug: string): string => slug.slice(0, 200);

/** A limit that was reached. */
export interface RateLimit {
  /** Undefined: requests in flight, or another number that headers do not name. */
  unit?: 'requests' | 'tokens' | undefined;
  limit: number;
  remaining: number;
  /** Unix milliseconds. */
  resetAtMs: number;
}

/** A rule that an error teaches. */
export interface RefusalLesson {
  /** The parameter or keyword that was refused: `temperature`, `pattern`. */
  name: string;
  /** The fields of the body that it is about, one of which a refused request has. Absent: a part of a tool or a schema. */
  fields?: readonly string[];
  /** Whether it is about one request, not about the endpoint. */
  isOnce?: boolean;
  /** The only wires that have it. Absent: all. */
  wire?: string | readonly string[];
  /** Returns the settings of `dialect` that avoid it, to add to those of the endpoint. */
  settings: (current: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
}

export interface GatewayErrorOptions {
  /** Sent as `error.metadata`. Never has a secret or a raw upstream body. */
  metadata?: Record<string, unknown>;
  availability?: Availability;
  /** Overrides the `error_type` of the kind, if the provider was more exact. */
  errorType?: string;
  /** Whether another endpoint may serve the same request. Default: no. */
  retryable?: boolean;
  /** Whether the same endpoint may serve the same request a moment later. Default: no. */
  isTransient?: boolean | undefined;
  /** Seconds. Sent as `Retry-After`. */
  retryAfterSeconds?: number;
  /** A limit of the gateway. Sent as `X-RateLimit-*` and in the metadata. */
  rateLimit?: RateLimit | undefined;
  /** Whether the key caused it, not the request or the model. Another key of the provider may work. */
  blamesKey?: boolean | undefined;
  /**
   * Whether the provider does not serve the region of the gateway or the caller. Neither the endpoint nor the caller is
   * at fault.
   */
  isRegional?: boolean | undefined;
  /** `incomplete_details.reason` of a response that had begun. */
  incompleteReason?: 'content_filter' | undefined;
  /** The provider's own code, shown as `metadata.provider_code`. */
  providerCode?: string | number;
  /** The tokens of an input that is too long, and the maximum, as far as the provider names them. */
  tokens?: { input?: number; max?: number } | undefined;
  /** What the provider refuses, if its error names a parameter or a keyword that a request can do without. */
  lesson?: RefusalLesson | undefined;
  /** Replaces the message in the log if the message quotes a provider, which may quote the prompt or a key. */
  loggedMessage?: string | undefined;
  cause?: unknown;
}

/** A failure of a kind in the table above. Any other error becomes `internal` and leaks nothing. */
export class GatewayError extends Error {
  readonly kind: ErrorKind;
  readonly status: number;
  readonly errorType: string;
  readonly metadata: Record<string, unknown>;
  readonly availability: Availability | undefined;
  readonly retryable: boolean;
  readonly isTransient: boolean;
  readonly retryAfterSeconds: number | undefined;
  readonly providerCode: string | number | undefined;
  readonly blamesKey: boolean;
  readonly rateLimit: RateLimit | undefined;
  readonly isRegional: boolean;
  readonly incompleteReason: 'content_filter' | undefined;
  readonly tokens: GatewayErrorOptions['tokens'];
  readonly lesson: RefusalLesson | undefined;
  readonly loggedMessage: string | undefined;

  constructor(kind: ErrorKind, message: string, options: GatewayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GatewayError';
    this.kind = kind;
    this.status = errorKinds[kind].status;
    this.errorType = options.errorType ?? errorKinds[kind].errorType;
    this.metadata = options.metadata ?? {};
    this.availability = options.availability;
    this.retryable = options.retryable ?? false;
    this.isTransient = options.isTransient ?? false;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.providerCode = options.providerCode;
    this.blamesKey = options.blamesKey ?? false;
    this.rateLimit = options.rateLimit;
    this.isRegional = options.isRegional ?? false;
    this.incompleteReason = options.incompleteReason;
    this.tokens = options.tokens;
    this.lesson = options.lesson;
    this.loggedMessage = options.loggedMessage;
  }
}

/** Creates the error for an invalid body: the first problem is the message, all of them are `metadata.issues`. */
export function invalidRequest(issues: Issue[]): GatewayError {
  const { path, message } = issues[0]!;
  return createIssuesError('invalid_request', path === '' ? message : `${path}: ${message}`, issues);
}

/** Creates the error for a body that requests an unsupported feature. Each message names its field. */
export const unsupportedRequest = (issues: Issue[]): GatewayError =>
  createIssuesError('not_offered', issues[0]!.message, issues);

function createIssuesError(kind: ErrorKind, first: string, issues: Issue[]): GatewayError {
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more: see error.metadata.issues)` : '';
  return new GatewayError(kind, `${first}${more}`, { metadata: { issues } });
}

/** Converts anything thrown to a GatewayError. The original stays as `cause` for the log. */
export function asGatewayError(error: unknown): GatewayError {
  return error instanceof GatewayError
    ? error
    : new GatewayError('internal', 'The gateway failed. Its log has the details under this request id.', {
        cause: error,
      });
}
