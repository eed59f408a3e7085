import { request, type IncomingMessage } from 'node:http';
import type { AgentSettings } from './settings.ts';

/** An item of `input` and `output`, unchanged. */
export type Item = Record<string, unknown> & { type?: string };

export interface ModelRequest {
  input: readonly Item[];
  instructions: string;
  tools: readonly unknown[];
  sessionId: string;
  /** The header `X-Headgate-Tags`. Undefined: none. */
  tags: string | undefined;
  signal: AbortSignal;
  onText(text: string): void;
  onReasoning(text: string): void;
}

/** A response of the gateway. */
export interface ModelResponse {
  model: string;
  output: Item[];
  usage: Record<string, unknown> | undefined;
}

/** A failure of the gateway or of a provider. */
export class ModelError extends Error {
  readonly retryable: boolean;
  constructor(message: string, retryable: boolean) {
    super(message);
    this.name = 'ModelError';
    this.retryable = retryable;
  }
}

const MAX_TRIES = 4;
const RETRY_MS = 1000;
const MAX_RETRY_MS = 20_000;
/** Longest line of the stream: a whole response. */
const MAX_LINE = 32 * 1024 * 1024;
const retryableStatuses = new Set([408, 429, 500, 502, 503, 504, 524, 529]);

/** Calls `POST /responses` until it succeeds, or fails for another reason than a temporary one. @throws {ModelError} */
export async function callModel(settings: AgentSettings, call: ModelRequest): Promise<ModelResponse> {
  for (let tries = 1; ; tries++) {
    let hasOutput = false;
    try {
      return await callOnce(settings, {
        ...call,
        onText(text) {
          hasOutput = true;
          call.onText(text);
        },
      });
    } catch (error) {
      call.signal.throwIfAborted();
      const isTemporary = error instanceof ModelError && error.retryable;
      if (!isTemporary || hasOutput || tries === MAX_TRIES) throw error;
      await pause(Math.min(MAX_RETRY_MS, RETRY_MS * 3 ** (tries - 1)), call.signal);
    }
  }
}

async function callOnce(settings: AgentSettings, call: ModelRequest): Promise<ModelResponse> {
  const response = await send(settings, call);
  if (response.statusCode !== 200) throw await readFailure(response);
  let model = '';
  for await (const event of readEvents(response)) {
    const type = event.type as string; // the events of the gateway
    if (type === 'response.output_text.delta' || type === 'response.refusal.delta') call.onText(String(event.delta));
    else if (type === 'response.reasoning_text.delta' || type === 'response.reasoning_summary_text.delta') {
      call.onReasoning(String(event.delta));
    } else if (type === 'error' || type === 'response.failed') {
      throw new ModelError(readMessage(event) ?? 'The model failed.', true);
    } else if (type === 'response.completed' || type === 'response.incomplete') {
      const whole = event.response as { model?: string; output: Item[]; usage?: Record<string, unknown> }; // the same
      model = whole.model ?? model;
      return { model, output: whole.output, usage: whole.usage };
    }
  }
  throw new ModelError('The response of the gateway was interrupted.', true);
}

function send(settings: AgentSettings, { input, instructions, tools, sessionId, tags, signal }: ModelRequest) {
  const body = Buffer.from(
    JSON.stringify({
      ...(settings.model && { model: settings.model }),
      instructions,
      input,
      tools,
      stream: true,
      store: false,
      session_id: sessionId,
    }),
  );
  const url = new URL(`${settings.baseUrl}/responses`);
  const { proxy } = settings;
  return new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request(
      {
        host: (proxy ?? url).hostname.replace(/^\[|\]$/g, ''),
        port: (proxy ?? url).port,
        path: proxy ? url.href : url.pathname,
        method: 'POST',
        headers: {
          host: url.host,
          ...(proxy && authorizeProxy(proxy)),
          authorization: `Bearer ${settings.apiKey}`,
          'content-type': 'application/json',
          'content-length': body.length,
          ...(tags && { 'x-headgate-tags': tags }),
        },
        agent: false,
        signal,
      },
      resolve,
    );
    outgoing.on('error', (error) => reject(new ModelError(`The gateway cannot be reached: ${error.message}`, true)));
    outgoing.end(body);
  });
}

/** A proxy outside of the sandbox has credentials in its URL. */
const authorizeProxy = ({ username, password }: URL): Record<string, string> =>
  username === ''
    ? {}
    : { 'proxy-authorization': `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };

/** Reads server-sent events. */
async function* readEvents(response: IncomingMessage): AsyncGenerator<Record<string, unknown>> {
  let rest = '';
  response.setEncoding('utf8');
  try {
    for await (const piece of response as AsyncIterable<string>) {
      rest += piece;
      for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
        const line = rest.slice(0, end);
        rest = rest.slice(end + 1);
        if (line.startsWith('data: {')) yield JSON.parse(line.slice(6));
      }
      if (rest.length > MAX_LINE) throw new ModelError('The response of the gateway is too large.', false);
    }
  } catch (error) {
    if (error instanceof ModelError) throw error;
    throw new ModelError(`The response of the gateway was interrupted: ${String(error)}`, true);
  }
}

async function readFailure(response: IncomingMessage): Promise<ModelError> {
  let text = '';
  for await (const piece of response) if (text.length < 65_536) text += piece;
  const status = response.statusCode ?? 0;
  let message: string | undefined;
  try {
    message = readMessage(JSON.parse(text));
  } catch {
    // not JSON: a message of the proxy
  }
  return new ModelError(
    message ?? `The gateway responded with ${status}: ${text.slice(0, 500)}`,
    retryableStatuses.has(status),
  );
}

/** Finds the message in an error envelope, an error event or a failed response. */
function readMessage(value: unknown): string | undefined {
  const { error, response, message } = value as {
    error?: { message?: string } | null;
    response?: { error?: { message?: string } | null };
    message?: string;
  };
  return error?.message ?? response?.error?.message ?? message;
}

/** @throws the reason of the signal */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal.addEventListener('abort', stop, { once: true });
  });
}
