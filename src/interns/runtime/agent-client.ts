import { type IncomingMessage, request } from 'node:http';
import { connectToPort } from '../../platform/sandbox/connect-port.ts';
import type { Sandbox } from '../../platform/sandbox/sandbox.ts';
import type { AgentEvent, InteractionReply, RunRequest } from '../agent/events.ts';
import { type ControlSigner, SIGNATURE_HEADER } from './control-signer.ts';
import { readAgentEvent } from './read-agent-event.ts';
import { readAgentPieces } from './read-agent-pieces.ts';
import { REPLY_KEY_HEADER } from './reply-check.ts';
import { parseJson } from '../../domain/parse-json.ts';

/** The port of agents. Each sandbox has its own network. */
export const AGENT_PORT = 8790;
/** Requests with this prefix are the gateway's alone. */
export const CONTROL_PREFIX = '/.headgate/';

/** Longest event. */
const MAX_LINE = 4 * 1024 * 1024;
/** Characters of all events of a run: choice 730. */
const MAX_RUN = 64 * 1024 * 1024;
const MAX_REPLY = 65_536;

/** An agent that cannot be reached, or does not keep the contract. */
export class AgentError extends Error {
  /** `unreachable`: no connection, or it ended. `rejected`: another status than the contract has. */
  readonly problem: 'unreachable' | 'rejected';
  readonly status: number | undefined;

  constructor(problem: AgentError['problem'], message: string, status?: number, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AgentError';
    this.problem = problem;
    this.status = status;
  }
}

type Signer = Pick<ControlSigner, 'sign' | 'replies'>;
/** Checks a text of a reply. @throws {AgentError} if it is not from the agent */
type CheckText = (text: string) => string;

/** Calls the control endpoints of an agent in a sandbox. @see docs/reference/intern-runtimes.md#endpoints */
export class AgentClient {
  private readonly sandbox: Pick<Sandbox, 'start'>;
  private readonly signer: Signer;

  constructor(sandbox: Pick<Sandbox, 'start'>, signer: Signer) {
    this.sandbox = sandbox;
    this.signer = signer;
  }

  /** @throws {AgentError} */
  async checkHealth(signal: AbortSignal): Promise<void> {
    const { response, check } = await this.send('GET', 'health', undefined, signal);
    const { statusCode: status } = response;
    if (status === 200) this.signer.replies.take(response.headers[REPLY_KEY_HEADER]);
    await readReply(response, check);
    if (status !== 200)
      throw new AgentError('rejected', `The health check of the agent responded with ${status}.`, status);
  }

  /** Starts a run. @returns its events, which throw an `AgentError` if the connection ends @throws {AgentError} */
  async openRun(run: RunRequest, signal: AbortSignal): Promise<AsyncGenerator<AgentEvent>> {
    const { response, check } = await this.send('POST', 'runs', run, signal);
    if (response.statusCode !== 200) {
      const message = await readReply(response, check);
      throw new AgentError('rejected', `The agent rejected the run: ${message}`, response.statusCode);
    }
    return readEvents(readAgentPieces(response), check, signal);
  }

  /** @returns whether the run took the text */
  steer(runId: string, text: string, signal: AbortSignal): Promise<boolean> {
    return this.post(`runs/${runId}/input`, { text }, signal);
  }

  /** @returns whether the question was pending */
  answer(runId: string, id: string, answer: InteractionReply, signal: AbortSignal): Promise<boolean> {
    return this.post(`runs/${runId}/interactions/${encodeURIComponent(id)}`, { answer }, signal);
  }

  /** @returns whether the run exists */
  cancel(runId: string, signal: AbortSignal): Promise<boolean> {
    return this.post(`runs/${runId}/cancel`, {}, signal);
  }

  private async post(path: string, body: unknown, signal: AbortSignal): Promise<boolean> {
    const { status, message } = await this.call('POST', path, body, signal);
    if (status < 300) return true;
    if (status === 404 || status === 409) return false;
    throw new AgentError('rejected', `The agent responded with ${status}: ${message}`, status);
  }

  private async call(method: 'GET' | 'POST', path: string, body: unknown, signal: AbortSignal) {
    const { response, check } = await this.send(method, path, body, signal);
    return { status: response.statusCode ?? 0, message: await readReply(response, check) };
  }

  private async send(
    method: string,
    name: string,
    body: unknown,
    signal: AbortSignal,
  ): Promise<{ response: IncomingMessage; check: CheckText }> {
    const stream = await connectToPort(this.sandbox, AGENT_PORT);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const path = `${CONTROL_PREFIX}${name}`;
    const { number, value } = this.signer.sign(method, path, text ?? '');
    const received = Promise.withResolvers<IncomingMessage>();
    const outgoing = request(
      {
        method,
        path,
        createConnection: () => stream,
        signal,
        headers: {
          host: 'localhost',
          [SIGNATURE_HEADER]: value,
          connection: 'close',
          ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        },
      },
      received.resolve,
    );
    outgoing.on('error', (cause) => {
      stream.destroy();
      const failed = new AgentError('unreachable', 'The agent does not accept requests.', undefined, { cause });
      received.reject(signal.aborted ? signal.reason : failed);
    });
    outgoing.end(text);
    const response = await received.promise;
    if (response.statusCode === 401) {
      response.destroy();
      throw new AgentError('rejected', 'The agent rejected the signature: it was used, or arrived too late.', 401);
    }
    const read = this.signer.replies.open(number, response.statusCode ?? 0);
    const check = (line: string): string => {
      const checked = read(line);
      if (checked !== undefined) return checked;
      response.destroy();
      throw new AgentError('rejected', 'A reply is not from the agent. A program in its sandbox may have forged it.');
    };
    return { response, check };
  }
}

/** Reads the message of a reply. The connection ends with the part that is read. @throws {AgentError} */
async function readReply(response: IncomingMessage, check: CheckText): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  try {
    for await (const piece of response as AsyncIterable<string>) {
      text += piece;
      if (text.length >= MAX_REPLY) break;
    }
  } catch (cause) {
    throw new AgentError('unreachable', 'The connection to the agent ended during its response.', undefined, { cause });
  }
  text = check(text);
  try {
    return String((parseJson(text) as { message?: unknown }).message ?? '').slice(0, 500);
  } catch {
    return text.slice(0, 500);
  }
}

/** @throws {AgentError} `unreachable` if the connection ends, `rejected` if it has something else than events */
async function* readEvents(
  pieces: AsyncGenerator<string>,
  check: CheckText,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent> {
  let [rest, total] = ['', 0];
  try {
    for await (const piece of pieces) {
      total += piece.length;
      rest += piece;
      // Only pieces that end a line are searched in the text so far: a long line has many pieces.
      const lines = piece.includes('\n') ? rest.split('\n') : [rest];
      rest = lines.pop()!;
      for (const line of lines) {
        const event = line === '' ? undefined : readLine(check(line));
        if (event) yield event;
      }
      if (rest.length > MAX_LINE) throw rejectEvents('A line is too long.');
      if (total > MAX_RUN) throw rejectEvents('The run has too much output.');
    }
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof AgentError) throw cause;
    throw new AgentError('unreachable', 'The connection to the agent ended during the run.', undefined, { cause });
  }
}

function readLine(line: string): AgentEvent | undefined {
  try {
    return readAgentEvent(line);
  } catch (cause) {
    throw rejectEvents('An event is malformed.', { cause });
  }
}

const rejectEvents = (why: string, options?: ErrorOptions): AgentError =>
  new AgentError('rejected', `The agent violates the contract of runs. ${why}`, undefined, options);
