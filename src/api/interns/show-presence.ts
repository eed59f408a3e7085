import { connect } from 'node:net';
import type { Intern } from '../../domain/intern.ts';
import type { LiveIntern } from '../../interns/runtime/create-runtime.ts';
import type { HostIdentity } from './host-proof.ts';
import { readOwnerAddress } from './owner-address.ts';

/** Time for a process of this host to accept a connection. */
const CONNECT_MS = 1000;
/** Number of the step `Start runtime`. */
const START_STEP = 3;

export interface PresenceParts {
  host: HostIdentity;
  /** @returns undefined if this process does not run the intern */
  findLive: (internId: string) => Pick<LiveIntern, 'running'> | undefined;
}

/** Returns interns as callers see them. */
export type ShowPresence = (interns: readonly Intern[]) => Promise<Intern[]>;

/**
 * Creates the view of interns. One whose runtime has ended, and is being started again, is `provisioning`, although its row
 * stays `running`: for example after the process that ran it was killed.
 *
 * @see docs/reference/interns.md#states
 */
export function createPresence({ host, findLive }: PresenceParts): ShowPresence {
  return async (interns) => {
    const sockets = new Map<string, Promise<boolean>>();
    const accepts = (path: string): Promise<boolean> => {
      const known = sockets.get(path) ?? acceptsConnection(path);
      sockets.set(path, known);
      return known;
    };
    const isThere = async ({ id, runtimeAddress }: Intern): Promise<boolean> => {
      if (runtimeAddress === null) return false;
      const live = findLive(id);
      if (live) return live.running.isReady;
      const address = readOwnerAddress(host, runtimeAddress);
      // Other processes notice the end of another host, and remove its address.
      return address?.hostId !== host.id || accepts(address.socketPath);
    };
    return await Promise.all(
      interns.map(async (intern): Promise<Intern> => {
        if (intern.status !== 'running' || (await isThere(intern))) return intern;
        return { ...intern, status: 'provisioning', step: START_STEP };
      }),
    );
  };
}

/** Whether a process listens at a Unix socket. */
function acceptsConnection(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path);
  const end = (accepts: boolean): void => {
    socket.destroy();
    resolve(accepts);
  };
  socket.setTimeout(CONNECT_MS, () => end(false));
  socket.once('connect', () => end(true));
  socket.on('error', () => end(false));
  return promise;
}
