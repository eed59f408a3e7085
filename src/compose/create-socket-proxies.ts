import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEgressProxy } from '../platform/egress/egress-proxy.ts';
import { isProcessAlive } from '../platform/sandbox/is-process-alive.ts';
import type { OpenProxy } from './create-egress.ts';

export interface SocketProxyOptions {
  /** Whether sandboxes of a gateway that runs as root open the sockets as another user, such as those of bubblewrap. */
  hasOtherUser: boolean;
}

const FOLDER = 'headgate-egress-';
/** Longest path of a folder for sockets. Paths of Unix sockets have at most 107 bytes. */
const MAX_FOLDER_BYTES = 60;

/**
 * Opens proxies on Unix sockets, in a folder that only the gateway can enter: choice 600. Where sandboxes have another user,
 * others can enter the folder but not list it, and the driver gives each socket to that user.
 */
export function createSocketProxies({ hasOtherUser }: SocketProxyOptions, resources: AsyncDisposableStack): OpenProxy {
  let folder: string | undefined;
  const openFolder = (): string => {
    if (folder !== undefined) return folder;
    const base = chooseBase();
    removeFoldersOfDeadProcesses(base);
    folder = mkdtempSync(join(base, `${FOLDER}${process.pid}-`));
    chmodSync(folder, hasOtherUser && process.getuid?.() === 0 ? 0o711 : 0o700);
    return folder;
  };
  resources.defer(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });
  return async (options) => {
    const proxySocket = join(openFolder(), `${randomBytes(16).toString('hex')}.sock`);
    const proxy = await openEgressProxy({ ...options, socketPath: proxySocket });
    return { network: { proxySocket }, close: () => proxy.close() };
  };
}

/** The user of a sandbox must be able to enter the folder. The temporary folder of root can be closed to it. */
function chooseBase(): string {
  const usual = tmpdir();
  return process.getuid?.() === 0 || Buffer.byteLength(usual) > MAX_FOLDER_BYTES ? '/tmp' : usual;
}

function removeFoldersOfDeadProcesses(base: string): void {
  for (const name of readdirSync(base)) {
    const pid = Number(/^headgate-egress-(\d+)-/.exec(name)?.[1]);
    if (!(pid > 0) || isProcessAlive(pid)) continue;
    try {
      rmSync(join(base, name), { recursive: true, force: true });
    } catch {
      // It belongs to another user.
    }
  }
}
