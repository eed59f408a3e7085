import { parseJson } from '../../domain/parse-json.ts';
import { readDuration } from './waits.ts';

/** The common content of an error in any format. */
export interface Complaint {
  message: string;
  code: string | number | undefined;
  type: string;
  /** Reasons in the details of Google. */
  reasons: string;
  /** The field of the request that the error is about. */
  param: string;
  /** Seconds to wait, if the error itself contains them. */
  wait: number | undefined;
  /** Whether a hosted moderation before the model flagged the content. */
  moderated: boolean;
}

type Fields = Record<string, unknown>;

const asFields = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;

/**
 * Reads an error: `{error: {…}}` of OpenAI, Anthropic and Google, `{error: "…"}`, the same in a list, the bare object of
 * vLLM, Mistral, Databricks and AWS, `{detail}` and `{detail: {error}}` of FastAPI, `{title, detail}` of NVIDIA, the list `errors` of
 * Cloudflare and watsonx, `{error, error_description}` of OAuth, `{error_type, error_message}`, `{error_code, error_msg}` of Baidu,
 * `base_resp` of MiniMax, or one line of text, as proxies send it. Any other value has no message, because an error page is never repeated.
 *
 * @param type of an exception in a header, if the body names none
 */
export function readComplaint(body: unknown, type = '', depth = 0): Complaint {
  if (Array.isArray(body)) return readComplaint(body[0], type, depth); // Gemini's compatible API sends a list
  const outer = asFields(body);
  if (!outer) return complain({}, readLine(body), type);
  const relayed = readInner(outer, depth);
  if (relayed) return relayed;
  const base = asFields(outer.base_resp);
  if (base) return complain({ code: base.status_code, type: 'base_resp' }, readWords(base.status_msg), type);
  const first = asFields([outer.errors].flat()[0]);
  const isFirst = Array.isArray(outer.errors) || typeof first?.message === 'string';
  if (first && isFirst && outer.error === undefined) return complain(first, readWords(first.message), type);
  const inner = outer.error ?? asFields(outer.detail)?.error ?? outer;
  if (typeof inner === 'string') {
    const { error_description: description } = outer;
    const message = typeof description === 'string' ? `${inner}: ${description}` : inner;
    return complain({ type: outer.error_type, ...outer }, message, type);
  }
  const error = asFields(inner);
  if (!error) return complain(outer, '', type);
  const said = readWords(
    error.message ??
      error.Message ??
      error.detail ??
      error.msg ??
      error.error_msg ??
      outer.message ??
      outer.detail ??
      outer.error_message,
  );
  // Xiaomi says in `param` what is wrong.
  const isSentence = typeof error.param === 'string' && error.param.includes(' ');
  const words = isSentence ? `${said}: ${String(error.param)}` : said;
  return complain(
    {
      code: error.error_code,
      type: error.title ?? error.error_type ?? error.reason,
      ...error,
      ...(isSentence && { param: '' }),
    },
    words,
    type,
  );
}

/** Errors within errors that are followed. Each proxy of a chain may wrap the one before it. */
const MAX_DEPTH = 4;
/** Bytes of a message that are read as JSON. */
const MAX_JSON = 20_000;

/**
 * Reads the error of a provider that a proxy relays: as the JSON text of its message, as `upstream_error` or in `errors`. Returns undefined
 * for an error of the server itself.
 */
function readInner(outer: Fields, depth: number): Complaint | undefined {
  if (depth >= MAX_DEPTH) return undefined;
  const error = asFields(outer.error) ?? outer;
  const metadata = asFields(error.metadata);
  const inner =
    asFields(error.upstream_error) ??
    (outer.error !== undefined && error.message === undefined ? asFields([error.errors].flat()[0]) : undefined) ??
    parseFields(error.message) ??
    parseFields(outer.error) ??
    parseFields(outer.error_message) ??
    parseFields(asFields(error.value)?.error_message) ?? // https://github.com/vercel/ai/issues/18303
    (isRelayed(error.message) ? parseFields(metadata?.raw) : undefined);
  if (!inner) return undefined;
  const complaint = readComplaint(inner, '', depth + 1);
  return complaint.message === '' ? undefined : { ...complaint, wait: complaint.wait ?? readRelayedWait(metadata) };
}

/** Characters of a line of text that is repeated. */
const MAX_LINE = 200;

/** Returns a body that is one short line, such as `Payload Too Large`. Any other text is a page or a stack. */
function readLine(body: unknown): string {
  if (typeof body !== 'string') return '';
  const line = body.trim();
  return line.length <= MAX_LINE && !/[<>{}\r\n]/.test(line) ? line : '';
}

/** Parses a message that is the JSON of an error. */
function parseFields(text: unknown): Fields | undefined {
  if (typeof text !== 'string' || text.length > MAX_JSON || !/^\s*[{[]/.test(text)) return undefined;
  try {
    const value: unknown = parseJson(text);
    return asFields(Array.isArray(value) ? value[0] : value);
  } catch {
    return undefined;
  }
}

function complain(fields: Fields, message: string, named: string): Complaint {
  const { code, type } = fields;
  const metadata = asFields(fields.metadata);
  const own = typeof type === 'string' ? type : typeof fields.status === 'string' ? fields.status : '';
  return {
    message: readRelayed(message, metadata),
    code: (typeof code === 'string' && code !== '') || typeof code === 'number' ? code : undefined,
    type: own === '' ? named.replace(/:.*/, '') : own,
    reasons: readReasons(fields.details),
    param: typeof fields.param === 'string' ? fields.param : '',
    wait: readRetryInfo(fields.details) ?? readRelayedWait(metadata) ?? readOwnWait(fields),
    moderated: Array.isArray(metadata?.reasons) && metadata.flagged_input !== undefined,
  };
}

const isRelayed = (message: unknown): boolean =>
  typeof message === 'string' && /^provider returned error\.?$/i.test(message);

/** OpenRouter says only that a provider failed. The provider's own words are in the metadata. */
function readRelayed(message: string, metadata: Fields | undefined): string {
  const raw = metadata?.raw;
  return typeof raw === 'string' && isRelayed(message) ? raw : message;
}

/** Reads the time of the reset in the headers that OpenRouter repeats in the metadata. */
function readRelayedWait(metadata: Fields | undefined): number | undefined {
  const reset = asFields(metadata?.headers)?.['X-RateLimit-Reset'];
  const resetAtMs = typeof reset === 'string' || typeof reset === 'number' ? Number(reset) : 0;
  return resetAtMs > 1e12 ? Math.max(0, Math.ceil((resetAtMs - Date.now()) / 1000)) : undefined;
}

/**
 * Reads the wait beside the message: `resets_in_seconds` and `resets_at` of OpenAI's plans, and `reset_seconds` of a
 * gateway before them. Sources: https://github.com/router-for-me/CLIProxyAPI/issues/1666,
 * https://github.com/router-for-me/CLIProxyAPI/issues/4327
 */
function readOwnWait({ resets_in_seconds: left, reset_seconds: other, resets_at: at }: Fields): number | undefined {
  const seconds = [left, other].find((each) => typeof each === 'number') ?? toSeconds(at);
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds as number)) : undefined;
}

/** Some servers write the time in milliseconds. */
const toSeconds = (at: unknown): unknown =>
  typeof at === 'number' ? (at > 1e12 ? at / 1000 : at) - Date.now() / 1000 : undefined;

const readReasons = (details: unknown): string =>
  Array.isArray(details)
    ? details.flatMap((detail) => (typeof detail?.reason === 'string' ? [detail.reason as string] : [])).join(' ')
    : '';

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
  const fields = asFields(message);
  return fields ? readWords(fields.detail ?? fields.message) : '';
}

function readProblem(problem: unknown): string {
  const fields = asFields(problem);
  if (!fields) return typeof problem === 'string' ? problem : '';
  const { loc, msg } = fields;
  if (typeof msg !== 'string') return '';
  const path = Array.isArray(loc) ? loc.filter((step) => typeof step === 'string' || typeof step === 'number') : [];
  return path.length > 0 ? `${path.join('.')}: ${msg}` : msg;
}

/**
 * Finds the error in a body or an event of status 200: its `error`, a `base_resp` that reports one, or, in a body
 * without `content` of its format, the bare error of a proxy.
 *
 * @param content the field that a response of the format always has
 */
export function findError(body: object, content: string): unknown {
  const fields = body as Fields;
  if (fields.error) return typeof fields.error_description === 'string' ? body : fields.error;
  const code = asFields(fields.base_resp)?.status_code;
  if (code !== undefined && code !== 0) return body;
  if (content in fields) return undefined;
  const isList = Array.isArray(fields.errors) && fields.errors.length > 0;
  const isBare =
    ['message', 'detail', 'error_message', 'error_msg'].some((name) => typeof fields[name] === 'string') &&
    !('usage' in fields);
  return isList || isBare ? body : undefined;
}
