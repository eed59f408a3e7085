import { existsSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { GatewayError } from '../../domain/errors.ts';
import type { Intern } from '../../domain/intern.ts';
import { createChatError } from './chat-failure.ts';
import type { HostIdentity } from './host-proof.ts';
import { readOwnerAddress } from './owner-address.ts';
import {
  listOnwardHeaders,
  listReturnedHeaders,
  type OnwardRequest,
  passRequest,
  passUpgrade,
  type UpgradeRequest,
} from './pass-on.ts';
import { relayChatStream } from './relay-chat-stream.ts';
import { connectToHost, connectToProcess, type OwnerConnection } from './reach-owner.ts';

/**
 * Set on forwarded requests, so that none is forwarded for ever: `host` if another host has sent it, which leaves the step to
 * a process of this host, and `process` if a process of this host has sent it. choice 760
 */
const FORWARDED = 'x-headgate-forwarded';
/** The owner writes a comment every 30 seconds. Longer silence of a chat is that of a process that was stopped. choice 792 */
const SILENCE_MS = 100_000;
/** Seconds until another host has taken over the interns of one that has ended. */
const TAKEOVER_SECONDS = 20;

/** The process or the host that runs an intern. */
export type Owner = { kind: 'process'; socketPath: string } | { kind: 'host'; hostId: string; url: URL };

export interface ForwardedExchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** Already read. Absent: it follows. */
  body?: Buffer | undefined;
  /** Whether the response is a stream of the chat API. */
  isChat?: boolean;
}

/** Passes requests on to the process that runs an intern. */
export interface OwnerForwarder {
  /** @throws {GatewayError} if the owner does not respond */
  forward(intern: Intern, exchange: ForwardedExchange): Promise<void>;
  /** Passes a WebSocket on. @throws {GatewayError} if the owner does not respond */
  upgrade(intern: Intern, upgrade: UpgradeRequest): Promise<void>;
}

export function createOwnerForwarder(identity: HostIdentity, silenceMs = SILENCE_MS): OwnerForwarder {
  async function connect(owner: Owner): Promise<OwnerConnection> {
    if (owner.kind === 'process') return connectToProcess(owner.socketPath);
    try {
      return await connectToHost(owner.url, owner.hostId, identity);
    } catch (cause) {
      throw explainLostOwner(cause as Error, owner);
    }
  }
  function describe(owner: Owner, connection: OwnerConnection, request: IncomingMessage, body?: Buffer): OnwardRequest {
    const headers: OnwardRequest['headers'] = { ...listOnwardHeaders(request), [FORWARDED]: owner.kind };
    if (body !== undefined) {
      delete headers['transfer-encoding']; // beside a length it is invalid
      headers['content-length'] = String(body.length);
    }
    const options = { ...connection.options, path: request.url };
    return { ...connection, options, headers, body, explain: (cause) => explainLostOwner(cause, owner) };
  }

  return {
    async forward(intern, { request, response, body, isChat = false }) {
      const owner = findOwner(identity, intern, request);
      const connection = await connect(owner);
      if (response.destroyed) return connection.close(); // the client has disconnected meanwhile
      response.once('close', () => connection.close());
      try {
        const onward = describe(owner, connection, request, body);
        const incoming = await passRequest(request, isChat ? { ...onward, silenceMs } : onward);
        response.writeHead(incoming.statusCode!, listReturnedHeaders(incoming));
        if (isChat && incoming.statusCode === 200) await relayChatStream(incoming, response, silenceMs);
        else await pipeline(incoming, response).catch(() => response.destroy()); // the client learns that the end is missing
      } finally {
        connection.close();
      }
    },
    async upgrade(intern, upgrade) {
      const owner = findOwner(identity, intern, upgrade.request);
      const connection = await connect(owner);
      try {
        await passUpgrade(upgrade, describe(owner, connection, upgrade.request), listReturnedHeaders);
      } finally {
        connection.close();
      }
    },
  };
}

/** Finds where a request for an intern goes. @throws {GatewayError} if nothing that this process can reach runs it */
export function findOwner(identity: HostIdentity, { runtimeAddress }: Intern, request: IncomingMessage): Owner {
  const address = runtimeAddress === null ? undefined : readOwnerAddress(identity, runtimeAddress);
  const hop = request.headers[FORWARDED];
  if (!address || hop === 'process') throw createStartingError();
  const { hostId, socketPath, url } = address;
  if (hostId === identity.id && existsSync(socketPath)) return { kind: 'process', socketPath };
  if (hostId === identity.id || hop !== undefined) throw createStartingError();
  if (url !== undefined) return { kind: 'host', hostId, url: new URL(url) };
  const text =
    'The intern runs on another host of the gateway, whose address is unknown: set server.advertise_url there.';
  throw createChatError('intern_unreachable', text, { kind: 'unavailable' });
}

const createStartingError = (): GatewayError =>
  createChatError('busy', 'The intern is being started again. Try again later.', { kind: 'unavailable' });

function explainLostOwner(cause: Error, owner: Owner): GatewayError {
  const text = `The ${owner.kind} that runs the intern does not respond. If it has ended, another one takes over.`;
  return createChatError('intern_unreachable', text, {
    cause,
    retryAfterSeconds: TAKEOVER_SECONDS,
    ...(owner.kind === 'host' && { loggedMessage: `${text} ${owner.url.origin}: ${cause.message}` }),
  });
}
