import { forClients } from '../api/errors-of-clients.ts';
import { createSessionIdentifier } from '../api/console/identify-session.ts';
import { writeOpenAIError } from '../api/openai-errors.ts';
import type { ResponseSockets } from '../api/responses/socket/sockets.ts';
import { type ApiParts, bindRoutes } from '../api/routes.ts';
import { writeErrorEnvelope } from '../http/error-envelope.ts';
import { createServer } from '../http/server.ts';
import type { Base } from './open-base.ts';
import { recordRejections } from './record-rejections.ts';
import type { InternWing } from './wings/interns.ts';

export interface EdgeParts extends Pick<InternWing, 'hosts' | 'findKey'> {
  /** The parts of the routes of all wings. */
  routes: ApiParts;
  sockets: ResponseSockets;
}

/** Creates the server. Uses the addresses and body limits of the first configuration. */
export function createEdge(base: Base, parts: EdgeParts): ReturnType<typeof createServer> {
  const { config, state, telemetry, accounts } = base;
  const { server, timeouts } = config();
  const { findKey } = parts;
  const identifySession = createSessionIdentifier(
    base.storage.console,
    accounts.access.findCaller,
    () => config().server.public_url,
  );
  return createServer({
    routes: bindRoutes(parts.routes),
    // Requests of agents have the key of their intern, whatever they send.
    identify(sent, connection) {
      const key = findKey(connection);
      return accounts.access.identify(key === undefined ? sent : [`Bearer ${key}`], connection);
    },
    identifySession: (request, reply) =>
      config().server.console && findKey(request.raw.socket) === undefined
        ? identifySession(request, reply)
        : undefined,
    isAgent: (connection) => findKey(connection) !== undefined,
    isDraining: () => state.phase !== 'serving',
    isClosing: () => state.phase === 'closing',
    hosts: parts.hosts,
    open: base.open,
    bodyLimit: server.body_limit,
    bodies: base.bodies,
    receiveMs: timeouts.receive_ms,
    regionalHosts: () => config().server.regional_hosts,
    corsOrigins: server.cors_origins,
    onRouting: parts.sockets.onRouting,
    receivedAt: telemetry.receivedAt,
    onRejected: recordRejections(accounts.access, base.rejections),
    watchRoute: telemetry.watchRoute,
    writeError: forClients(writeErrorEnvelope),
    writeUnknownError: forClients(writeOpenAIError),
  });
}
