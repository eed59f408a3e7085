import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Intern } from '../../domain/intern.ts';
import { createChatError } from './chat-failure.ts';

/** Set on requests that another process has forwarded, so that none is forwarded twice. */
const FORWARDED = 'x-headgate-forwarded';

/**
 * Finds the socket of the process that runs an intern.
 *
 * @throws {GatewayError} `intern_unreachable` if no process of this host runs it
 */
export function findOwner({ runtimeAddress }: Intern, request: IncomingMessage): string {
  const path = /^unix:(.+)#/.exec(runtimeAddress ?? '')?.[1];
  if (path === undefined || request.headers[FORWARDED] !== undefined) {
    throw createChatError('intern_unreachable', 'The intern is being started again. Try again later.');
  }
  return path;
}

/** Passes a request on to the process that runs the intern. choice 679 @param body already read; undefined: it follows */
export async function forwardToOwner(
  socketPath: string,
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer | undefined,
): Promise<void> {
  const received = Promise.withResolvers<IncomingMessage>();
  const { method, url: path, headers } = request;
  const outgoing = httpRequest(
    { socketPath, method, path, setHost: false, headers: { ...headers, [FORWARDED]: '1' } },
    received.resolve,
  );
  outgoing.on('error', (cause) => received.reject(explainLostOwner(cause)));
  response.once('close', () => outgoing.destroy());
  if (body === undefined) request.pipe(outgoing);
  else outgoing.end(body);
  const incoming = await received.promise;
  response.writeHead(incoming.statusCode!, incoming.headers);
  await pipeline(incoming, response);
}

/** Passes a WebSocket on to the process that runs the intern. */
export async function forwardUpgrade(
  socketPath: string,
  { method, url, rawHeaders }: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const owner = connect(socketPath);
  const lines = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}`] : []));
  owner.write(`${[`${method} ${url} HTTP/1.1`, ...lines, `${FORWARDED}: 1`].join('\r\n')}\r\n\r\n`);
  if (head.length > 0) owner.write(head);
  try {
    await Promise.all([pipeline(socket, owner), pipeline(owner, socket)]);
  } catch {
    owner.destroy();
    socket.destroy();
  }
}

const explainLostOwner = (cause: Error) =>
  createChatError('intern_unreachable', 'The process that runs the intern does not respond.', true, cause);
