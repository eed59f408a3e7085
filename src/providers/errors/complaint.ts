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
 * vLLM, Mistral, Databricks and AWS, `{detail}` of FastAPI, `{title, detail}` of NVIDIA, the list `errors` of Cloudflare
 * and watsonx, or `base_resp` of MiniMax. Any other value has no message, because an error page is never repeated.
 *
 * @param type of an exception in a header, if the body names none
 */
export function readComplaint(body: unknown, type = ''): Complaint {
  if (Array.isArray(body)) return readComplaint(body[0], type); // Gemini's compatible API sends a list
  const outer = asFields(body);
  if (!outer) return complain({}, '', type);
  const base = asFields(outer.base_resp);
  if (base) return complain({ code: base.status_code, type: 'base_resp' }, readWords(base.status_msg), type);
  const [first] = Array.isArray(outer.errors) ? outer.errors.map(asFields) : [];
  if (first && outer.error === undefined) return complain(first, readWords(first.message), type);
  const inner = outer.error ?? outer;
  if (typeof inner === 'string') return complain({ type: outer.error_type, ...outer }, inner, type);
  const error = asFields(inner);
  if (!error) return complain(outer, '', type);
  const words = readWords(error.message ?? error.Message ?? error.detail ?? error.msg ?? outer.message ?? outer.detail);
  return complain({ code: error.error_code, type: error.title, ...error }, words, type);
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
    wait: readRetryInfo(fields.details) ?? readRelayedWait(metadata),
    moderated: Array.isArray(metadata?.reasons) && metadata.flagged_input !== undefined,
  };
}

/** OpenRouter says only that a provider failed. The provider's own words are in the metadata. */
function readRelayed(message: string, metadata: Fields | undefined): string {
  const raw = metadata?.raw;
  return typeof raw === 'string' && /^provider returned error\.?$/i.test(message) ? raw : message;
}

/** Reads the time of the reset in the headers that OpenRouter repeats in the metadata. */
function readRelayedWait(metadata: Fields | undefined): number | undefined {
  const reset = asFields(metadata?.headers)?.['X-RateLimit-Reset'];
  const resetAtMs = typeof reset === 'string' || typeof reset === 'number' ? Number(reset) : 0;
  return resetAtMs > 1e12 ? Math.max(0, Math.ceil((resetAtMs - Date.now()) / 1000)) : undefined;
}

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
  if (fields.error) return fields.error;
  const code = asFields(fields.base_resp)?.status_code;
  if (code !== undefined && code !== 0) return body;
  if (content in fields) return undefined;
  const isList = Array.isArray(fields.errors) && fields.errors.length > 0;
  const isBare =
    (typeof fields.message === 'string' || typeof fields.detail === 'string') && 'usage' in fields === false;
  return isList || isBare ? body : undefined;
}
