/** What a server says when it refuses a request. `{value}` and the like are replaced by what was at fault. */
export type Words = string | SpokenWords;

export interface SpokenWords {
  message: string;
  status?: number;
  type?: string;
  code?: string | number;
  param?: string;
}

/** A refusal of a request, in the words of the real server. */
export interface Refusal {
  status: number;
  body: unknown;
}

/** Writes words into the body of an error of one server. */
export type Envelope = (words: SpokenWords) => Refusal;

/** Fills the placeholders of words, and wraps them in the envelope of a server. */
export function speak(envelope: Envelope, words: Words, values: Record<string, unknown> = {}): Refusal {
  const spoken = typeof words === 'string' ? { message: words } : words;
  const fill = (text: string): string =>
    text.replace(/\{(\w+)\}/g, (whole, name: string) => (name in values ? String(values[name]) : whole));
  return envelope({
    ...spoken,
    message: fill(spoken.message),
    ...(spoken.param !== undefined && { param: fill(spoken.param) }),
  });
}

/** The envelopes of errors, by the server that has them. */
export const envelopes = {
  openai: ({ message, status = 400, type = 'invalid_request_error', code = undefined, param = undefined }) => ({
    status,
    body: { error: { message, type, param: param ?? null, code: code ?? null } },
  }),
  anthropic: ({ message, status = 400, type = 'invalid_request_error' }) => ({
    status,
    body: { type: 'error', error: { type, message }, request_id: 'req_011CStrict' },
  }),
  google: ({ message, status = 400 }) => ({
    status,
    body: { error: { code: status, message, status: 'INVALID_ARGUMENT' } },
  }),
  /** Chat completions of Google: a list with one error. */
  googleChat: ({ message, status = 400 }) => ({
    status,
    body: [{ error: { code: status, message, status: 'INVALID_ARGUMENT' } }],
  }),
  mistral: ({ message, status = 400, type = 'invalid_request_error', code = '3000' }) => ({
    status,
    body: { object: 'error', message, type, param: null, code },
  }),
  /** FastAPI and Pydantic: a list of faults. */
  pydantic: ({ message, status = 422, type = 'value_error', param = undefined }) => ({
    status,
    body: { detail: [{ type, loc: ['body', ...(param === undefined ? [] : [param])], msg: message }] },
  }),
  vllm: ({ message, status = 400, type = 'BadRequestError', param = undefined }) => ({
    status,
    body: { error: { message, type, param: param ?? null, code: status } },
  }),
  sglang: ({ message, status = 400, type = 'BadRequestError', param = undefined }) => ({
    status,
    body: { object: 'error', message, type, param: param ?? null, code: status },
  }),
  llamaCpp: ({ message, status = 500, type = 'server_error' }) => ({
    status,
    body: { error: { code: status, message, type } },
  }),
  zai: ({ message, status = 400, code = '1210' }) => ({ status, body: { error: { code, message } } }),
  minimax: ({ message, status = 400, code = 2013 }) => ({
    status,
    body: {
      type: 'error',
      error: { type: 'bad_request_error', message: `invalid params, ${message} (${code})`, http_code: String(status) },
      request_id: '0660b098aa1e9dd5',
    },
  }),
  cohere: ({ message, status = 400 }) => ({ status, body: { id: 'c0ffee', message } }),
  text: ({ message, status = 400 }) => ({ status, body: { error: message } }),
  openrouter: ({ message, status = 400 }) => ({ status, body: { error: { message, code: status } } }),
  cloudflare: ({ message, status = 400, code = 8001 }) => ({
    status,
    body: { errors: [{ message: `AiError: AiError: ${message}`, code }], success: false, result: {}, messages: [] },
  }),
  databricks: ({ message, status = 400 }) => ({ status, body: { error_code: 'BAD_REQUEST', message } }),
} satisfies Record<string, Envelope>;
