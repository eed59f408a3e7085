import { tooLongAdvice } from '../../domain/compression.ts';
import { type ErrorKind, GatewayError, type RefusalLesson } from '../../domain/errors.ts';
import { sendTheItem } from '../kit/draft.ts';
import { readLesson, readRoomLesson } from '../rules/lessons.ts';
import type { UpstreamErrorResponse } from '../wire.ts';
import { type Complaint, readComplaint } from './complaint.ts';
import { type ErrorMeaning, errorPatterns } from './error-patterns.ts';
import { maskSecrets } from './mask-secrets.ts';
import { readRetryAfter, readSpokenWait } from './waits.ts';

/**
 * Reads the error response of a server, in any format that `readComplaint` knows, or a page that is not JSON.
 *
 * @param nowMs the current time, for a `retry-after` that is a date
 * @see docs/reference/errors.md#who-is-responsible the caller is never blamed for a problem between the gateway and the
 *   provider
 */
export function readUpstreamError(answer: UpstreamErrorResponse, nowMs = Date.now()): GatewayError {
  const { status, headers, body } = answer;
  const exception = headers['x-amzn-errortype'];
  return explain(readComplaint(body, typeof exception === 'string' ? exception : ''), status, {
    sent: status,
    retryAfterSeconds: readRetryAfter(headers, nowMs),
    body,
  });
}

/**
 * Reads an error inside a response of status 200, buffered or streamed. The message contains a status only if the error
 * names one, because no error status was sent.
 *
 * @param error the value of the `error` key, or the object that contains it
 * @param status the equivalent status of the error; below 400, its code and type decide
 */
export function readUpstreamErrorObject(error: unknown, status: number, retryAfterSeconds?: number): GatewayError {
  const complaint = readComplaint(typeof error === 'string' ? { error } : error);
  const sent = readNumericCode(complaint);
  return explain(complaint, status >= 400 ? status : sent, { sent, retryAfterSeconds, body: error });
}

/** The sentence of each kind. The provider's own message follows it. */
const says: Partial<Record<ErrorKind, string>> = {
  upstream_failed: 'The provider failed',
  upstream_key_rejected: 'The provider rejects the key of the gateway',
  upstream_path_missing: 'The provider does not have the path',
  upstream_timeout: 'The provider was too slow',
  upstream_overloaded: 'The provider is overloaded',
  rate_limited: 'The provider limits the rate of requests',
  upstream_rejected: 'The provider rejected the request',
  payload_too_large: 'The provider takes no request of this size',
  unprocessable: 'The provider cannot process the request',
  context_length_exceeded: 'The input does not fit into the context of the model',
  content_policy: 'The provider refused the content',
  model_unavailable: 'The provider does not have the model',
};

const kinds: Record<ErrorMeaning, ErrorKind> = {
  account: 'upstream_failed',
  rate: 'rate_limited',
  context: 'context_length_exceeded',
  content: 'content_policy',
  model: 'model_unavailable',
  key: 'upstream_key_rejected',
  region: 'upstream_failed',
  path: 'upstream_path_missing',
  overloaded: 'upstream_overloaded',
  timeout: 'upstream_timeout',
  retry: 'upstream_failed',
  failed: 'upstream_failed',
  too_large: 'payload_too_large',
  rejected: 'upstream_rejected',
  unprocessable: 'unprocessable',
};

/** Meanings for which waiting may help. */
const transient: ReadonlySet<ErrorMeaning> = new Set(['rate', 'overloaded', 'timeout', 'retry']);
/** Meanings for which another endpoint may serve the same request. */
const elsewhere: ReadonlySet<ErrorMeaning> = new Set([
  ...transient,
  'account',
  'model',
  'key',
  'region',
  'path',
  'failed',
]);

interface Received {
  /** The HTTP status, or the status that the error itself names. */
  sent: number | undefined;
  retryAfterSeconds: number | undefined;
  body: unknown;
}

/** @param status undefined if neither the server nor the error named one */
function explain(complaint: Complaint, status: number | undefined, received: Received): GatewayError {
  const { sent, retryAfterSeconds, body: cause } = received;
  const { means, tokens } = classify(complaint, status);
  const kind = means === 'account' && status === 429 ? 'rate_limited' : kinds[means];
  const words = shorten(maskSecrets(complaint.message));
  const redirected = status !== undefined && status >= 300 && status < 400;
  const reason = redirected ? 'redirects are not followed' : words;
  const providerCode = complaint.code ?? (complaint.type || undefined);
  const waits = kind === 'rate_limited' || kind === 'upstream_overloaded' || kind === 'upstream_failed';
  const subject = sent === undefined ? says[kind] : `${says[kind]} (status ${sent})`;
  return new GatewayError(kind, `${subject}${reason === '' ? '.' : `: ${reason}`}${adviseOn(kind, complaint)}`, {
    retryable: elsewhere.has(means),
    isTransient:
      transient.has(means) || (means === 'failed' && status !== undefined && status >= 500 && status !== 501),
    retryAfterSeconds: waits
      ? (retryAfterSeconds ??
        complaint.wait ??
        (kind === 'rate_limited' ? readSpokenWait(complaint.message) : undefined))
      : undefined,
    blamesKey: means === 'rate' || means === 'key' || means === 'account',
    isRegional: means === 'region',
    loggedMessage: subject,
    providerCode: typeof providerCode === 'string' ? shorten(maskSecrets(providerCode)) : providerCode,
    tokens,
    lesson: lessonIn(means, complaint),
    cause,
  });
}

const teaching: ReadonlySet<ErrorMeaning> = new Set(['rejected', 'unprocessable', 'failed', 'retry']);

function lessonIn(means: ErrorMeaning, { message, param }: Complaint): RefusalLesson | undefined {
  if (means === 'context') return readRoomLesson(message);
  // Templates of llama.cpp and proxies report what the request has as an error of their own.
  return teaching.has(means) ? readLesson(message, param) : undefined;
}

function adviseOn(kind: ErrorKind, { message }: Complaint): string {
  if (kind === 'context_length_exceeded') return ` ${tooLongAdvice}`;
  return storeWords.test(message) ? ` This gateway stores nothing: ${sendTheItem}.` : '';
}

/** OpenAI's messages for an item without its content, which it looks up in its store: https://github.com/vercel/ai/issues/10290. */
const storeWords = /items are not persisted|^item with id '[^']{1,100}' not found/i;

/** Messages may be as long as the request that they repeat. The patterns read only the beginning. */
const MAX_WORDS = 2000;

/** Classifies an error by the patterns of errors, and by its status if none matches. */
function classify(complaint: Complaint, status: number | undefined): Classified {
  const { message, code, type, reasons, moderated } = complaint;
  if (status !== undefined && status < 400) return { means: 'failed' };
  if (moderated) return { means: 'content' };
  const signs = [code, type, reasons].filter(Boolean).join(' ').toLowerCase();
  const start = message.slice(0, MAX_WORDS);
  for (const { id, means, status: statuses, code: ofCode, words } of errorPatterns) {
    if (statuses && (status === undefined || !statuses.includes(status))) continue;
    if (ofCode?.test(signs)) return { means, pattern: id, tokens: readTokens(start) };
    const found = words?.exec(start);
    if (found) return { means, pattern: id, tokens: found.groups && countTokens(found.groups) };
    if (!ofCode && !words && statuses) return { means, pattern: id };
  }
  return { means: status === undefined ? meaningOfSigns(signs) : meaningOfStatus(status, complaint) };
}

interface Classified {
  means: ErrorMeaning;
  /** The id of the pattern that decided. */
  pattern?: string;
  tokens?: Tokens | undefined;
}

type Tokens = NonNullable<GatewayError['tokens']>;

/** Returns the id of the pattern of an error, for tests. */
export const findErrorPattern = ({ status, headers = {}, body }: Partial<UpstreamErrorResponse>): string | undefined =>
  classify(
    readComplaint(body, String(headers['x-amzn-errortype'] ?? '')),
    status !== undefined && status >= 400 ? status : undefined,
  ).pattern;

/** Reads the numbers of tokens in a message. Its code has already decided its meaning. */
function readTokens(message: string): Tokens | undefined {
  for (const { means, words } of errorPatterns) {
    const groups = means === 'context' ? words?.exec(message)?.groups : undefined;
    const tokens = groups && countTokens(groups);
    if (tokens) return tokens;
  }
  return undefined;
}

function countTokens({ input, max }: Record<string, string | undefined>): Tokens | undefined {
  if (input === undefined && max === undefined) return undefined;
  return {
    ...(input !== undefined && { input: Number(input) }),
    ...(max !== undefined && { max: Number(max) }),
  };
}

/** Messages of a 404 about a model. Any other 404 is about the path, which the operator must correct. */
const modelWords = /\bmodels?\b/i;

/** @see docs/reference/errors.md#who-is-responsible */
function meaningOfStatus(status: number, { message, param }: Complaint): ErrorMeaning {
  switch (status) {
    case 400:
      return 'rejected';
    case 413:
      return 'too_large';
    case 401:
    case 403:
      return 'key';
    case 402:
      return 'account';
    case 404:
      if (modelWords.test(message)) return 'model';
      // OpenAI sends it for an unknown item, file or prompt. The caller set that field.
      return param === '' ? 'path' : 'rejected';
    case 405:
      return 'path';
    case 410:
      return 'model';
    case 408:
    case 504:
    case 522:
    case 524:
      return 'timeout';
    case 422:
      return 'unprocessable';
    case 429:
      return 'rate';
    case 498: // Groq: no capacity left in the flex tier
    case 503:
    case 529:
      return 'overloaded';
    default:
      return 'failed';
  }
}

/** Derives the meaning of an error without a status from the words of its code and type. */
function meaningOfSigns(signs: string): ErrorMeaning {
  if (/authentication|unauthorized|permission|forbidden/.test(signs)) return 'key';
  if (/billing|payment/.test(signs)) return 'account';
  if (/unavailable/.test(signs)) return 'overloaded';
  if (/timeout|timed_out|deadline/.test(signs)) return 'timeout';
  if (/unprocessable/.test(signs)) return 'unprocessable';
  if (/server_error|internal/.test(signs)) return 'retry';
  return /invalid|bad_?request|unsupported/.test(signs) ? 'rejected' : 'failed';
}

/** Returns the HTTP status that some errors use as their code. */
function readNumericCode({ code }: Pick<Complaint, 'code'>): number | undefined {
  const numeric = typeof code === 'number' ? code : /^[45]\d\d$/.test(code ?? '') ? Number(code) : 0;
  return numeric >= 400 && numeric < 600 ? numeric : undefined;
}

const shorten = (text: string) => (text.length > 500 ? `${text.slice(0, 499)}…` : text).trim();
