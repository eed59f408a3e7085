import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenEgress } from '../containers/container-parts.ts';
import { type CertificateAuthority, createCertificateAuthority } from '../platform/egress/certificate-authority.ts';
import { openEgressProxy } from '../platform/egress/egress-proxy.ts';
import type { EgressCounts } from '../platform/egress/sandbox-egress.ts';
import { writeTrustBundle } from '../platform/egress/trust-bundle.ts';
import type { Outbound } from '../platform/outbound/outbound.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';

export interface EgressParts {
  outbound: Pick<Outbound, 'connectTo'>;
  counts: EgressCounts;
  log: WriteLog;
  /** Whether sandboxes of a gateway that runs as root open the sockets as another user, such as those of bubblewrap. */
  hasOtherUser: boolean;
}

const FOLDER = 'headgate-egress-';
/** Longest path of a folder for sockets. Paths of Unix sockets have at most 107 bytes. */
const MAX_FOLDER_BYTES = 60;

/**
 * Creates the egress proxies of sandboxes. Their sockets are in a folder that only the gateway can enter: choice 600.
 * Where sandboxes have another user, others can enter the folder but not list it, and the driver gives each socket to
 * that user.
 */
export function createEgress(
  { outbound, counts, log, hasOtherUser }: EgressParts,
  resources: AsyncDisposableStack,
): OpenEgress {
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
  let created: CertificateAuthority | undefined;
  const getAuthority = (): CertificateAuthority => {
    created ??= createCertificateAuthority();
    return created;
  };
  return async ({ name, workspaceId, allowedDomains, release, ownHost }) => {
    const secrets = release && {
      release,
      authority: getAuthority(),
      onFailure: (err: unknown) => log('secret release failed', { sandbox: name, workspace_id: workspaceId, err }),
    };
    const proxySocket = join(openFolder(), `${randomBytes(16).toString('hex')}.sock`);
    const proxy = await openEgressProxy({
      socketPath: proxySocket,
      allowedDomains,
      counts,
      secrets,
      connect: (host, port, signal) =>
        host === ownHost?.name ? ownHost.connect() : outbound.connectTo(host, port, signal),
      report: (refusal) => log('egress refused', { sandbox: name, workspace_id: workspaceId, ...refusal }),
    });
    const trustBundle = secrets && writeTrustBundle(secrets.authority);
    return { proxySocket, trustBundle, close: () => proxy.close() };
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
    if (!(pid > 0) || isRunning(pid)) continue;
    try {
      rmSync(join(base, name), { recursive: true, force: true });
    } catch {
      // It belongs to another user.
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'; // the system's error
  }
}
