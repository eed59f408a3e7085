import type { TextSigner } from '../../access/sign-text.ts';
import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GatewayError } from '../../domain/errors.ts';
import type { Intern } from '../../domain/intern.ts';
import { CONTROL_PREFIX } from '../../interns/runtime/agent-client.ts';
import type { LiveIntern } from '../../interns/runtime/create-runtime.ts';
import { readChatRequest } from '../../management/interns/chat-bodies.ts';
import { removeHopHeaders } from '../../platform/egress/hop-headers.ts';
import { findOwner, forwardToOwner, forwardUpgrade } from './forward-to-owner.ts';
import { createChatError, readRunError, writeInternChatError } from './chat-failure.ts';
import { isSame } from './chat-handlers.ts';
import { writeDaemonToken } from './daemon.ts';
import { chatTimes, serveChat } from './serve-chat.ts';

const MAX_CHAT_BODY = 1_048_576;
const NO_CONTROL = `${CONTROL_PREFIX.slice(0, -1)}`;

export interface HostProxyParts {
  /** The domain of host names of interns; undefined: there are none. */
  domain: () => string | undefined;
  findByHostname: (hostname: string) => Promise<Intern | undefined>;
  findLive: (internId: string) => LiveIntern | undefined;
  sign: TextSigner;
}

/** The servers at the host names of interns. */
export interface HostProxy {
  /** Whether a `Host` header is one of an intern. */
  isOwn(host: string | undefined): boolean;
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

/** Serves the host names of interns. @see docs/reference/intern-chat.md#host-names */
export function createHostProxy(parts: HostProxyParts): HostProxy {
  /** Finds the running intern of a request, and checks its token. @throws {GatewayError} */
  async function admit(
    request: IncomingMessage,
  ): Promise<{ intern: Intern; live: LiveIntern | undefined; path: string }> {
    const url = readTargetOfRequest(request);
    const intern = await parts.findByHostname(readHostname(request.headers.host));
    const token =
      /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? url.searchParams.get('token') ?? '';
    const expected = intern && writeDaemonToken(parts.sign, intern);
    if (expected === undefined || !isSame(token, expected)) {
      const says =
        'Send the token of GET /api/v1/interns/{internId}/daemon as a bearer token or as the parameter `token`.';
      throw new GatewayError('authentication', says);
    }
    if (url.searchParams.has('token')) url.searchParams.delete('token'); // it writes the others in another way
    if (decodePath(url.pathname).startsWith(NO_CONTROL)) throw createChatError('not_found', 'There is no such path.');
    return { intern: intern!, live: parts.findLive(intern!.id), path: url.pathname + url.search }; // its token is right
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { intern, live, path } = await admit(request);
    if (!live) return forwardToOwner(findOwner(intern, request), request, response, undefined);
    if (request.method === 'POST' && path === '/chat/completions') {
      const wanted = readChatRequest(await readJsonBody(request));
      const steered = await serveChat(live, wanted, { raw: response, headers: {}, times: chatTimes });
      if (steered) sendJson(response, 202, steered, {});
      return;
    }
    const upstream = await live.running.connect().catch((error: unknown) => Promise.reject(toFailure(error)));
    // A client that disconnects frees the connection, also if the agent has not responded.
    response.once('close', () => void upstream.destroy());
    try {
      const incoming = await forward(request, upstream, path);
      response.writeHead(incoming.statusCode!, listHeaders(incoming));
      await pipeline(incoming, response);
    } finally {
      upstream.destroy();
    }
  }

  return {
    isOwn(host) {
      const domain = parts.domain();
      return domain !== undefined && host !== undefined && readHostname(host).endsWith(`.${domain}`);
    },
    async serve(request, response) {
      try {
        await serve(request, response);
      } catch (error) {
        if (response.headersSent || response.destroyed) return void response.destroy();
        const failure = writeInternChatError(error);
        sendJson(response, failure.status, failure.body, { ...failure.headers, connection: 'close' });
      }
    },
    async upgrade(request, socket, head) {
      socket.on('error', () => socket.destroy());
      let upstream: Duplex | undefined;
      try {
        const { intern, live, path } = await admit(request);
        if (!live) return await forwardUpgrade(findOwner(intern, request), request, socket, head);
        const agent = await live.running.connect().catch((error: unknown) => Promise.reject(toFailure(error)));
        upstream = agent;
        socket.once('close', () => void agent.destroy());
        const opened = await openUpgrade(request, agent, path);
        if ('rejected' in opened) {
          await pipeline(Readable.from(writeRejection(opened.rejected)), socket);
          return;
        }
        const { accepted } = opened;
        const upgraded = ['connection', 'Upgrade', 'upgrade', accepted.headers.upgrade ?? 'websocket'];
        socket.write(writeHead(101, 'Switching Protocols', [...listHeaders(accepted), ...upgraded]));
        if (opened.head.length > 0) socket.write(opened.head);
        if (head.length > 0) agent.write(head);
        await Promise.all([pipeline(socket, agent), pipeline(agent, socket)]);
      } catch (error) {
        const { status, body } = writeInternChatError(error);
        if (!upstream && socket.writable)
          socket.end(`HTTP/1.1 ${status} Error\r\nconnection: close\r\n\r\n${JSON.stringify(body)}`);
        upstream?.destroy();
        if (upstream) socket.destroy();
      }
    },
  };
}

/** @throws {GatewayError} `bad_request` */
function readTargetOfRequest({ url = '/' }: IncomingMessage): URL {
  const parsed = URL.parse(url, 'http://intern');
  if (parsed && url.startsWith('/') && !url.startsWith('//')) return parsed;
  throw createChatError('bad_request', 'The target of the request must be a path.');
}

/** What an agent says to a request for another protocol. */
type OpenedUpgrade = { accepted: IncomingMessage; head: Buffer } | { rejected: IncomingMessage };

/** Requests another protocol. Nothing else of the client reaches an agent that rejects it. @throws {GatewayError} */
function openUpgrade(request: IncomingMessage, agent: Duplex, path: string): Promise<OpenedUpgrade> {
  const opened = Promise.withResolvers<OpenedUpgrade>();
  const outgoing = httpRequest({
    createConnection: () => agent,
    method: request.method,
    path,
    setHost: false,
    headers: { ...cleanHeaders(request), connection: 'Upgrade', upgrade: request.headers.upgrade ?? 'websocket' },
  });
  outgoing.on('upgrade', (accepted, _, head) => opened.resolve({ accepted, head }));
  outgoing.on('response', (rejected) => opened.resolve({ rejected }));
  outgoing.on('error', (cause) => opened.reject(explainSilence(cause)));
  outgoing.end();
  return opened.promise;
}

/** Writes a response whose end is that of the connection. */
async function* writeRejection(response: IncomingMessage): AsyncGenerator<Buffer> {
  const headers = [...listHeaders(response), 'connection', 'close'];
  yield writeHead(response.statusCode!, response.statusMessage ?? '', headers);
  yield* response as AsyncIterable<Buffer>;
}

/** @param headers names and values */
function writeHead(status: number, reason: string, headers: readonly string[]): Buffer {
  const lines = headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []));
  return Buffer.from(`${[`HTTP/1.1 ${status} ${reason}`, ...lines].join('\r\n')}\r\n\r\n`, 'latin1');
}

const readHostname = (host: string | undefined): string =>
  (host ?? '').replace(/:\d+$/, '').replace(/\.$/, '').toLowerCase();

/** Sends a request to an agent. @throws {GatewayError} if it does not respond */
function forward(request: IncomingMessage, upstream: Duplex, path: string): Promise<IncomingMessage> {
  const received = Promise.withResolvers<IncomingMessage>();
  const outgoing = httpRequest(
    {
      createConnection: () => upstream,
      method: request.method,
      path,
      setHost: false,
      headers: { ...cleanHeaders(request), connection: 'close' },
    },
    received.resolve,
  );
  outgoing.on('error', (cause) => received.reject(explainSilence(cause)));
  outgoing.on('upgrade', (_, socket) => void socket.destroy());
  request.on('aborted', () => void upstream.destroy());
  request.pipe(outgoing);
  return received.promise;
}

const explainSilence = (cause: Error): GatewayError =>
  createChatError('intern_unreachable', 'The agent does not respond.', true, cause);

/** The headers that an agent receives: without those of the connection and without the token, which pages pass on. */
function cleanHeaders(request: IncomingMessage): Record<string, string[]> {
  const headers = removeHopHeaders(request.headersDistinct);
  headers.delete('authorization');
  if (request.headers.referer?.includes('token=')) headers.delete('referer');
  if (request.headers['transfer-encoding'] !== undefined) headers.set('transfer-encoding', ['chunked']);
  return Object.fromEntries(headers);
}

/** The headers that a client receives. A cookie of an agent is for its own host name. choice 734 */
const listHeaders = (incoming: IncomingMessage): string[] =>
  [...removeHopHeaders(incoming.headersDistinct)].flatMap(([name, values]) =>
    values.flatMap((value) => [name, name === 'set-cookie' ? value.replaceAll(/;\s*domain\s*=[^;]*/gi, '') : value]),
  );

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_CHAT_BODY)
      throw createChatError('payload_too_large', `The body is larger than ${MAX_CHAT_BODY} bytes.`);
    pieces.push(piece);
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString());
  } catch (cause) {
    throw createChatError('bad_request', 'The body is not valid JSON.', false, cause);
  }
}

const toFailure = (error: unknown): GatewayError =>
  createChatError(
    'intern_unreachable',
    error instanceof Error ? error.message : 'The agent cannot be reached.',
    true,
    readRunError(error),
  );

function sendJson(response: ServerResponse, status: number, body: object, headers: Record<string, string>): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
  response.end(JSON.stringify(body));
}
