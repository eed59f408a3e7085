import { once } from 'node:events';
import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { createHostChallenge, type HostIdentity, HOST_PROOF, HOST_CHALLENGE } from './host-proof.ts';

/** Milliseconds for a host to prove that it is one of the gateway. */
const PROOF_MS = 5000;
/** Milliseconds after which the system looks whether the other end of an idle connection still exists. */
const KEEP_ALIVE_MS = 10_000;

/** A connection to the process or the host that runs an intern. One request uses it. */
export interface OwnerConnection {
  options: RequestOptions;
  send: (options: RequestOptions) => ClientRequest;
  /** Ends a request that would use another connection than the proven one. */
  watch: (outgoing: ClientRequest) => void;
  close(): void;
}

/** Connects to a process of this host. */
export function connectToProcess(socketPath: string): OwnerConnection {
  const agent = new HttpAgent();
  return { options: { socketPath, agent }, send: httpRequest, watch: () => {}, close: () => agent.destroy() };
}

/**
 * Connects to another host, which proves that it has the master key before it gets anything of a client. Addresses of hosts
 * are given to other machines after they have ended. choice 761
 *
 * @throws {Error} if it does not respond, or is another one
 */
export async function connectToHost(url: URL, hostId: string, identity: HostIdentity): Promise<OwnerConnection> {
  const isSecure = url.protocol === 'https:';
  const [Agent, send] = isSecure ? [HttpsAgent, httpsRequest] : [HttpAgent, httpRequest];
  const agent = new Agent({ keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS, maxSockets: 1, maxFreeSockets: 1 });
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = url.port || (isSecure ? 443 : 80);
  const options = { agent, host, port, ...(isSecure && { servername: isIP(host) === 0 ? host : '' }) };
  try {
    await proveHost((more) => send({ ...options, ...more }), hostId, identity);
  } catch (error) {
    agent.destroy();
    throw error;
  }
  return {
    options,
    send,
    watch: (outgoing) => outgoing.once('socket', () => outgoing.reusedSocket || outgoing.destroy(createLostError())),
    close: () => agent.destroy(),
  };
}

async function proveHost(
  send: (options: RequestOptions) => ClientRequest,
  hostId: string,
  identity: HostIdentity,
): Promise<void> {
  const challenge = createHostChallenge(identity);
  const signal = AbortSignal.timeout(PROOF_MS);
  const outgoing = send({ path: '/health', headers: { [HOST_CHALLENGE]: challenge.text }, signal });
  const received = Promise.withResolvers<void>();
  outgoing.on('error', received.reject);
  outgoing.on('upgrade', (_, socket) => {
    socket.destroy(); // without an error of the request
    received.reject(createStrangerError());
  });
  outgoing.on('response', async (incoming) => {
    try {
      incoming.resume();
      await once(incoming, 'end', { signal });
      if (!challenge.isProvenBy(hostId, incoming.headers[HOST_PROOF])) throw createStrangerError();
      received.resolve();
    } catch (error) {
      outgoing.destroy();
      received.reject(error as Error);
    }
  });
  outgoing.end();
  await received.promise;
  await new Promise((resolve) => setImmediate(resolve)); // until the connection is free again
}

const createStrangerError = (): Error =>
  new Error(
    'The address does not lead to the host that runs the intern, or the hosts have different master keys (server.advertise_url, secrets.master_key).',
  );
const createLostError = (): Error => new Error('The host has closed the connection.');
