import { tooLongAdvice } from '../../domain/compression.ts';
import { type ErrorKind, GatewayError } from '../../domain/errors.ts';
import { sendTheItem } from './draft.ts';
import type { UpstreamErrorResponse } from '../wire.ts';

/** The common content of an error in any format. */
interface Complaint {
  message: string;
  code: string | number | undefined;
  type: string;
  /** The field of the request that the error is about. */
  param: string;
  /** Seconds to wait, if the error itself contains them. */
  wait: number | undefined;
  /** Whether a hosted moderation before the model flagged the content. */
  moderated: boolean;
}

/**
 * Reads the error response of a server: `{error: {…}}` of OpenAI, Anthropic and Google, `{error: "…"}`, the same in a
 * list, the bare object of vLLM and Mistral, `{detail}` of FastAPI, or a page that is not JSON.
 *
 * @param nowMs the current time, for a `retry-after` that is a date
 * @see docs/reference/errors.md#who-is-responsible the caller is never blamed for a problem between the gateway and the
 *   provider
 */
export function readUpstreamError(answer: UpstreamErrorResponse, nowMs = Date.now()): GatewayError {
  const { status, headers, body } = answer;
  return explain(readComplaint(body), status, {
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
  const meant = status >= 400 ? status : deriveStatus(complaint);
  return explain(complaint, meant, { sent: readNumericCode(complaint), retryAfterSeconds, body: error });
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
  unprocessable: 'The provider cannot process the request',
  context_length_exceeded: 'The input does not fit into the context of the model',
  content_policy: 'The provider refused the content',
  model_unavailable: 'The provider does not have the model',
};

interface Received {
  /** The HTTP status, or the status that the error itself names. */
  sent: number | undefined;
  retryAfterSeconds: number | undefined;
  body: unknown;
}

/** @param status the equivalent status of the error; not always the sent one */
function explain(complaint: Complaint, status: number, received: Received): GatewayError {
  const { sent, retryAfterSeconds, body: cause } = received;
  const isRegional = regionWords.test(`${complaint.code ?? ''} ${complaint.type} ${complaint.message}`);
  const found = classify(complaint, status);
  const kind = isRegional && found === 'upstream_key_rejected' ? 'upstream_failed' : found;
  const words = shorten(maskSecrets(complaint.message));
  const redirected = status >= 300 && status < 400;
  const reason = redirected ? 'redirects are not followed' : words;
  const providerCode = complaint.code ?? (complaint.type || undefined);
  const blamesKey =
    kind === 'rate_limited' || kind === 'upstream_key_rejected' || (kind === 'upstream_failed' && status === 402);
  const waits = kind === 'rate_limited' || kind === 'upstream_overloaded' || kind === 'upstream_failed';
  const isElsewhere = elsewhere.has(kind);
  const advice = adviseOn(kind, complaint);
  const subject = sent === undefined ? says[kind] : `${says[kind]} (status ${sent})`;
  return new GatewayError(kind, `${subject}${reason === '' ? '.' : `: ${reason}`}${advice}`, {
    retryable: isElsewhere || waits,
    isTransient: !isRegional && isTransient(kind, complaint, status),
    retryAfterSeconds: waits
      ? (retryAfterSeconds ?? complaint.wait ?? readSpokenWait(complaint.message, kind))
      : undefined,
    blamesKey: blamesKey && !isRegional,
    isRegional,
    loggedMessage: subject,
    providerCode: typeof providerCode === 'string' ? shorten(maskSecrets(providerCode)) : providerCode,
    cause,
  });
}

function adviseOn(kind: ErrorKind, { message }: Complaint): string {
  if (kind === 'context_length_exceeded') return ` ${tooLongAdvice}`;
  return storeWords.test(message) ? ` This gateway stores nothing: ${sendTheItem}.` : '';
}

/** Whether a retry may succeed. An empty account stays empty. */
function isTransient(kind: ErrorKind, { code, type }: Complaint, status: number): boolean {
  if (`${code ?? ''} ${type}`.toLowerCase().includes('insufficient_quota')) return false;
  if (kind === 'rate_limited' || kind === 'upstream_overloaded' || kind === 'upstream_timeout') return true;
  return kind === 'upstream_failed' && status >= 500 && status !== 501;
}

/** Kinds of which another endpoint may be free, and for which waiting does not help. */
const elsewhere: ReadonlySet<ErrorKind> = new Set([
  'upstream_timeout',
  'model_unavailable',
  'upstream_path_missing',
  'upstream_key_rejected',
]);

const regionWords =
  /unsupported_country|country, region, or territory|user location is not supported|region is not supported/i;
const contextCodes = /context_length|context_window|exceed_context_size|prompt_too_long|input_too_long/;
const contextWords =
  /maximum context length|exceeds the maximum number of tokens|context (?:length|window|size)|prompt is too long|input is too long|longer than the maximum model length/i;
const contentCodes = /content_?filter|content_policy|responsibleaipolicy|moderation|safety_violation|cyber_policy/;
const contentWords = /content (?:management |filtering )?policy|violates usage guidelines|our safety system/i;
const overloadWords = /overloaded|over capacity/i;
/** OpenAI's message for an item without its content, which it looks up in its store. */
const storeWords = /items are not persisted/i;
/** Messages of a 404 about a model. Any other 404 is about the path, which the operator must correct. */
const modelWords = /\bmodels?\b/i;
const keyWords = /\bapi[ _-]?key\b/i;
/** Messages of a 400 about our account: it is empty (Anthropic) or in an unsupported country (Google). */
const accountWords = /credit balance is too low|user location is not supported/i;

/** Classifies an error by ruling 9. Earlier signs take precedence over later ones. */
function classify({ message, code, type, param, moderated }: Complaint, status: number): ErrorKind {
  const signs = `${code ?? ''} ${type}`.toLowerCase();
  if (status < 400) return 'upstream_failed';
  if (signs.includes('insufficient_quota')) return 'rate_limited';
  if (contextCodes.test(signs)) return 'context_length_exceeded';
  if (moderated || contentCodes.test(signs)) return 'content_policy';
  if (status < 500 && /model_?not_?found/.test(signs)) return 'model_unavailable'; // OpenAI also sends it with 403
  if (signs.includes('overloaded') || signs.includes('capacity_exceeded')) return 'upstream_overloaded';
  // Groq responds with 413 and this code if one request exceeds the tokens of a minute.
  if (status === 429 || signs.includes('rate_limit')) return 'rate_limited';
  switch (status) {
    case 401:
      return 'upstream_key_rejected';
    case 403:
      return contentWords.test(message) ? 'content_policy' : 'upstream_key_rejected';
    case 404:
      if (modelWords.test(message)) return 'model_unavailable';
      // OpenAI sends it for an unknown item, file or prompt. The caller set that field.
      return param === '' ? 'upstream_path_missing' : 'upstream_rejected';
    case 405:
      return 'upstream_path_missing';
    case 408:
    case 504:
    case 522:
    case 524:
      return 'upstream_timeout';
    case 498: // Groq: no capacity left in the flex tier
    case 503:
    case 529:
      return 'upstream_overloaded';
    case 400:
    case 413:
    case 422:
      // Some servers send 400 for a wrong key. The key is the operator's.
      if (signs.includes('api_key') || (status === 400 && keyWords.test(message))) return 'upstream_key_rejected';
      if (accountWords.test(message)) return 'upstream_failed';
      if (contextWords.test(message)) return 'context_length_exceeded';
      if (contentWords.test(message)) return 'content_policy';
      return status === 422 ? 'unprocessable' : 'upstream_rejected';
    default:
      if (status < 500) return 'upstream_failed';
      if (contextWords.test(message)) return 'context_length_exceeded';
      return overloadWords.test(message) ? 'upstream_overloaded' : 'upstream_failed';
  }
}

/** Derives a status from the code or type of an error inside a 200 response; 502 if they are unknown. */
function deriveStatus({ code, type }: Complaint): number {
  const numeric = readNumericCode({ code });
  if (numeric !== undefined) return numeric;
  const signs = `${code ?? ''} ${type}`.toLowerCase();
  if (/rate_limit|too_many_requests|insufficient_quota|resource_exhausted/.test(signs)) return 429;
  if (/api_key|authentication|unauthorized/.test(signs)) return 401;
  if (/permission|forbidden/.test(signs)) return 403;
  if (/billing|insufficient_(?:balance|credits)|payment/.test(signs)) return 402;
  if (/overloaded|unavailable|capacity/.test(signs)) return 503;
  if (/timeout|timed_out|deadline/.test(signs)) return 504;
  if (/not_found/.test(signs)) return 404;
  if (/unprocessable/.test(signs)) return 422;
  if (/server_error|internal/.test(signs)) return 500;
  if (contextCodes.test(signs) || contentCodes.test(signs)) return 400;
  return /invalid|bad_?request|unsupported/.test(signs) ? 400 : 502;
}

/** Returns the HTTP status that some errors use as their code. */
function readNumericCode({ code }: Pick<Complaint, 'code'>): number | undefined {
  const numeric = typeof code === 'number' ? code : /^[45]\d\d$/.test(code ?? '') ? Number(code) : 0;
  return numeric >= 400 && numeric < 600 ? numeric : undefined;
}

function readComplaint(body: unknown): Complaint {
  if (Array.isArray(body)) return readComplaint(body[0]); // Gemini's compatible API sends a list
  if (typeof body !== 'object' || body === null) {
    // An error page or plain text is never repeated.
    return { message: '', code: undefined, type: '', param: '', wait: undefined, moderated: false };
  }
  const outer = body as Record<string, unknown>;
  const inner = outer.error ?? outer;
  if (typeof inner === 'string') return complaint(outer, inner);
  if (typeof inner !== 'object' || inner === null) return complaint(outer, '');
  const error = inner as Record<string, unknown>;
  return complaint(error, readWords(error.message ?? error.detail ?? error.msg ?? outer.message ?? outer.detail));
}

function complaint(fields: Record<string, unknown>, message: string): Complaint {
  const { code, type } = fields;
  const metadata = fields.metadata as Record<string, unknown> | null | undefined; // `?.` checks it
  return {
    message,
    code: (typeof code === 'string' && code !== '') || typeof code === 'number' ? code : undefined,
    type: typeof type === 'string' ? type : typeof fields.status === 'string' ? fields.status : '',
    param: typeof fields.param === 'string' ? fields.param : '',
    wait: readRetryInfo(fields.details),
    moderated: Array.isArray(metadata?.reasons) && metadata.flagged_input !== undefined,
  };
}

/** Reads the wait that Google sends beside the message: `{"@type": "…RetryInfo", "retryDelay": "31.5s"}`. */
function readRetryInfo(details: unknown): number | undefined {
  const delays = Array.isArray(details) ? details.map((detail) => detail?.retryDelay) : [];
  const delay = delays.find((each) => typeof each === 'string');
  const seconds = delay === undefined ? undefined : readDuration(delay);
  return seconds === undefined ? undefined : Math.ceil(seconds);
}

/** Reads a message: text, or the list of problems of a FastAPI server, which may be inside `{detail}`. */
function readWords(message: unknown): string {
  if (typeof message === 'string') return message;
  if (Array.isArray(message)) return message.map(readProblem).filter(Boolean).join('; ');
  if (typeof message === 'object' && message !== null) {
    const { detail, message: words } = message as Record<string, unknown>;
    return readWords(detail ?? words);
  }
  return '';
}

function readProblem(problem: unknown): string {
  if (typeof problem !== 'object' || problem === null) return typeof problem === 'string' ? problem : '';
  const { loc, msg } = problem as Record<string, unknown>;
  if (typeof msg !== 'string') return '';
  return Array.isArray(loc) ? `${loc.join('.')}: ${msg}` : msg;
}

/**
 * Shapes of secrets, and a sign that must be in each. Each pattern reads the text once from left to right. A lookahead
 * would read the rest of the text again at every position, and a message may be as long as the request that it repeats.
 */
const secrets: { shape: RegExp; sign?: RegExp }[] = [
  { shape: /\bBearer\s+\S+/gi },
  // A short prefix, a dash or underscore, and text with a digit or an asterisk: `sk-…`, `gsk_…`, `org-…`.
  {
    shape: /\b(?:sk|pk|rk|gsk|xai|hf|r8|nvapi|pplx|fw|key|org|proj|csk|tgp)[-_][\w*.-]{4,}/g,
    sign: /[\d*]/,
  },
  { shape: /\bAIza[\w*-]{4,}/g },
  // Letters and digits in a sequence longer than any word.
  { shape: /[A-Za-z0-9_+=*]{24,}/g, sign: /\d/ },
];

function maskSecrets(text: string): string {
  let masked = text;
  for (const { shape, sign } of secrets) {
    masked = masked.replace(shape, (found) => (!sign || sign.test(found) ? '[masked]' : found));
  }
  return masked;
}

const shorten = (text: string) => (text.length > 500 ? `${text.slice(0, 499)}…` : text).trim();

type Headers = UpstreamErrorResponse['headers'];

/** Reads whole seconds, rounded up, from the header that the provider uses; undefined if there is none. */
function readRetryAfter(headers: Headers, nowMs: number): number | undefined {
  const exactMs = Number.parseFloat(single(headers['retry-after-ms']));
  if (exactMs >= 0) return Math.ceil(exactMs / 1000);
  const after = single(headers['retry-after']);
  if (after !== '') {
    const seconds = readDuration(after) ?? (Date.parse(after) - nowMs) / 1000;
    if (!Number.isNaN(seconds)) return Math.max(0, Math.ceil(seconds));
  }
  const waits: number[] = [];
  const spent: number[] = [];
  for (const name in headers) {
    if (!name.startsWith('x-ratelimit-reset')) continue;
    const seconds = readReset(single(headers[name]), nowMs);
    if (seconds === undefined) continue;
    waits.push(seconds);
    if (single(headers[name.replace('reset', 'remaining')]) === '0') spent.push(seconds);
  }
  // The exhausted limits count. If none is marked as exhausted, the longest wait is safe.
  const longest = Math.max(...(spent.length > 0 ? spent : waits));
  return Number.isFinite(longest) ? Math.max(0, Math.ceil(longest)) : undefined;
}

const single = (header: string | string[] | undefined): string => (Array.isArray(header) ? header[0] : header) ?? '';

/** Reads the reset of a limit: a duration or a time (epoch in seconds or milliseconds, or a date). */
function readReset(text: string, nowMs: number): number | undefined {
  const seconds = readDuration(text);
  if (seconds === undefined) {
    const at = Date.parse(text);
    return Number.isNaN(at) ? undefined : (at - nowMs) / 1000;
  }
  if (seconds > 1e12) return (seconds - nowMs) / 1000;
  return seconds > 1e9 ? seconds - nowMs / 1000 : seconds;
}

const units: Record<string, number> = { d: 86_400, h: 3600, m: 60, s: 1, ms: 0.001 };

/** `20`, `1.5s`, `6m0s`, `120ms` → seconds. */
function readDuration(text: string): number | undefined {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text);
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[dhms]))+$/.test(text)) return undefined;
  let seconds = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g))
    seconds += Number(amount) * units[unit!]!;
  return seconds;
}

/** Reads the wait from a message of OpenAI or Groq. Inside a stream there is no header. */
function readSpokenWait(message: string, kind: ErrorKind): number | undefined {
  if (kind !== 'rate_limited') return undefined;
  const spoken = /try again in ((?:\d+(?:\.\d+)?(?:ms|[dhms]))+)/i.exec(message)?.[1];
  const seconds = spoken === undefined ? undefined : readDuration(spoken);
  return seconds === undefined ? undefined : Math.ceil(seconds);
}
