import type { TextSigner } from '../../access/sign-text.ts';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GatewayError } from '../../domain/errors.ts';
import { parseJson } from '../../domain/parse-json.ts';
import type { Intern } from '../../domain/intern.ts';
import { CONTROL_PREFIX } from '../../interns/runtime/agent-client.ts';
import type { LiveIntern } from '../../interns/runtime/create-runtime.ts';
import { readChatRequest } from '../../management/interns/chat-bodies.ts';
import { createChatError, readRunError, writeInternChatError } from './chat-failure.ts';
import { writeDaemonToken } from './daemon.ts';
import type { OwnerForwarder } from './forward-to-owner.ts';
import { isSame } from './is-same.ts';
import { listOnwardHeaders, listReturnedHeaders, type OnwardRequest, passRequest, passUpgrade } from './pass-on.ts';
import { chatTimes, serveChat } from './serve-chat.ts';

const MAX_CHAT_BODY = 1_048_576;
const NO_CONTROL = `${CONTROL_PREFIX.slice(0, -1)}`;

export interface HostProxyParts {
  /** The domain of host names of interns; undefined: there are none. */
  domain: () => string | undefined;
  findByHostname: (hostname: string) => Promise<Intern | undefined>;
  findLive: (internId: string) => LiveIntern | undefined;
  owners: OwnerForwarder;
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
    const isChat = request.method === 'POST' && path === '/chat/completions';
    if (!live) return parts.owners.forward(intern, { request, response, isChat });
    if (isChat) {
      const wanted = readChatRequest(await readJsonBody(request));
      const steered = await serveChat(live, wanted, { raw: response, headers: {}, times: chatTimes });
      if (steered) sendJson(response, 202, steered, {});
      return;
    }
    const upstream = await live.running.connect().catch((error: unknown) => Promise.reject(toFailure(error)));
    if (response.destroyed) return void upstream.destroy(); // the client has disconnected meanwhile
    // A client that disconnects frees the connection, also if the agent has not responded.
    response.once('close', () => void upstream.destroy());
    try {
      const incoming = await passRequest(request, describeAgent(request, upstream, path));
      response.writeHead(incoming.statusCode!, listHeaders(incoming));
      await pipeline(incoming, response);
    } finally {
      upstream.destroy();
    }
  }

  return {
    isOwn(host) {
      const domain = parts.domain();
      if (domain === undefined || host === undefined || host.length <= domain.length) return false;
      return readHostname(host).endsWith(`.${domain}`);
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
      try {
        const { intern, live, path } = await admit(request);
        if (!live) return await parts.owners.upgrade(intern, { request, socket, head });
        const agent = await live.running.connect().catch((error: unknown) => Promise.reject(toFailure(error)));
        await passUpgrade({ request, socket, head }, describeAgent(request, agent, path), listHeaders);
      } catch (error) {
        const { status, body } = writeInternChatError(error);
        const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\ncontent-type: application/json\r\nconnection: close`;
        if (socket.writable) socket.end(`${head}\r\n\r\n${JSON.stringify(body)}`);
      }
    },
  };
}

/** @throws {GatewayError} `bad_request` */
function readTargetOfRequest({ url = '/' }: IncomingMessage): URL {
  const parsed = URL.parse(url, 'http://intern');
  // `/x/..//y` becomes `//y`, which agents can read in another way
  if (parsed && url.startsWith('/') && ![url, parsed.pathname].some((path) => path.startsWith('//'))) return parsed;
  throw createChatError('bad_request', 'The target of the request must be a path.');
}

const readHostname = (host: string | undefined): string =>
  (host ?? '').replace(/:\d+$/, '').replace(/\.$/, '').toLowerCase();

/** Where a request to an agent goes. */
const describeAgent = (request: IncomingMessage, agent: Duplex, path: string) => ({
  options: { createConnection: () => agent, path },
  headers: { connection: 'close', ...cleanHeaders(request) },
  explain: explainSilence,
});

const explainSilence = (cause: Error): GatewayError =>
  createChatError('intern_unreachable', 'The agent does not respond.', { cause });

/** The headers that an agent receives: without the token, which pages pass on. */
function cleanHeaders(request: IncomingMessage): OnwardRequest['headers'] {
  const { authorization: _, referer, ...headers } = listOnwardHeaders(request);
  return !referer || request.headers.referer?.includes('token=') ? headers : { ...headers, referer };
}

/** The headers that a client receives. A cookie of an agent is for its own host name. choice 734 */
const listHeaders = (incoming: IncomingMessage): string[] =>
  listReturnedHeaders(incoming).map((text, index, all) =>
    index % 2 === 1 && all[index - 1] === 'set-cookie' ? text.replaceAll(/;\s*domain\s*=[^;]*/gi, '') : text,
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
    return parseJson(Buffer.concat(pieces).toString());
  } catch (cause) {
    throw createChatError('bad_request', 'The body is not valid JSON.', { cause });
  }
}

const toFailure = (error: unknown): GatewayError =>
  createChatError('intern_unreachable', error instanceof Error ? error.message : 'The agent cannot be reached.', {
    cause: readRunError(error),
  });

function sendJson(response: ServerResponse, status: number, body: object, headers: Record<string, string>): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
  response.end(JSON.stringify(body));
}
