import type { HostIdentity } from './host-proof.ts';
import { isSame } from './is-same.ts';

/** Where other processes of the gateway find the process that runs an intern. */
export interface OwnerAddress {
  hostId: string;
  /** Path of its Unix socket. Processes of the same host use it. */
  socketPath: string;
  /** Base URL of its host (`server.advertise_url`). Absent: other hosts cannot reach it. */
  url: string | undefined;
}

/** Writes an address for the row of an intern. It is signed: a change of the database must not redirect requests with keys. */
export function writeOwnerAddress({ id, sign }: HostIdentity, socketPath: string, url: string | undefined): string {
  const fields = new URLSearchParams({ host: id, socket: socketPath, ...(url !== undefined && { url }) }).toString();
  return `${fields}&signature=${sign('owner-address', fields)}`;
}

/** @param text `Intern.runtimeAddress` @returns undefined if no process with the same master key has written it */
export function readOwnerAddress({ sign }: Pick<HostIdentity, 'sign'>, text: string): OwnerAddress | undefined {
  const [, fields = '', signature = ''] = /^(.*)&signature=([0-9a-f]{64})(?:#.*)?$/.exec(text) ?? [];
  if (!isSame(signature, sign('owner-address', fields))) return undefined;
  const read = new URLSearchParams(fields);
  return { hostId: read.get('host')!, socketPath: read.get('socket')!, url: read.get('url') ?? undefined };
}
