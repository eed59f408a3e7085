import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { readServiceBody, readServiceMessage, ContainerServiceError } from '../remote/container-service-error.ts';
import { parseJson } from '../../../domain/parse-json.ts';

/** Version of the API. Docker 20.10 and Podman 4 have it. */
const VERSION = 'v1.41';
/** A service that systemd starts with its first request takes many seconds on a slow machine. */
const REQUEST_MS = 60_000;

/** A refusal of the service, or no connection to it. */
export class EngineError extends ContainerServiceError {
  override readonly name = 'EngineError';
}

/** A client of the Docker Engine API over a Unix socket. Podman offers the same API. */
export class EngineClient {
  private readonly socketPath: string;

  constructor(socketPath: string) {
    this.socketPath = socketPath;
  }

  /** @returns the body; undefined if it is empty @throws {EngineError} */
  async call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<unknown> {
    const response = await this.send(method, path, body);
    const text = await readServiceBody(response).catch((error: Error) => Promise.reject(this.explain(error)));
    if (response.statusCode! < 300 || response.statusCode === 304) return text === '' ? undefined : parseBody(text);
    throw new EngineError(readMessage(text), response.statusCode);
  }

  /** Starts an exchange in which the connection becomes a stream. @throws {EngineError} */
  async hijack(path: string, body?: unknown): Promise<{ socket: Socket; head: Buffer }> {
    const stream = Promise.withResolvers<{ socket: Socket; head: Buffer }>();
    const call = request(this.options('POST', path, body, { connection: 'Upgrade', upgrade: 'tcp' }));
    call.setTimeout(REQUEST_MS, () => call.destroy(new Error('timeout')));
    call.once('upgrade', (_, socket, head) => {
      socket.setTimeout(0);
      stream.resolve({ socket: socket as Socket, head }); // over a Unix socket it is one
    });
    call.once('response', async (response) => {
      const text = await readServiceBody(response).catch(() => '');
      stream.reject(new EngineError(readMessage(text), response.statusCode));
    });
    call.once('error', (error) => stream.reject(this.explain(error)));
    call.end(writeBody(body));
    return await stream.promise;
  }

  private async send(method: string, path: string, body: unknown): Promise<IncomingMessage> {
    const response = Promise.withResolvers<IncomingMessage>();
    const call = request(this.options(method, path, body, {}), response.resolve);
    call.setTimeout(REQUEST_MS, () => call.destroy(new Error('timeout')));
    call.once('error', (error) => response.reject(this.explain(error)));
    call.end(writeBody(body));
    return await response.promise;
  }

  private options(method: string, path: string, body: unknown, headers: Record<string, string>) {
    const length = { 'content-length': String(writeBody(body).length) };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    return {
      method,
      socketPath: this.socketPath,
      path: `/${VERSION}${path}`,
      agent: false as const,
      headers: { host: 'localhost', ...length, ...type, ...headers },
    };
  }

  private explain(error: NodeJS.ErrnoException): EngineError {
    const reason = error.code ?? error.message;
    return new EngineError(`The container service at ${this.socketPath} does not respond (${reason}).`, undefined, {
      cause: error,
    });
  }
}

const writeBody = (body: unknown): Buffer => Buffer.from(body === undefined ? '' : JSON.stringify(body));

function parseBody(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined; // a stream of several objects, of which nothing is needed
  }
}

const readMessage = (text: string): string => readServiceMessage(text) ?? 'The container service rejected the request.';
