import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { ClientConfig } from 'pg';

/** The parts of a client's configuration that the URL of a database determines. */
export type PostgresSettings = Pick<ClientConfig, 'connectionString' | 'ssl'>;

/** Values of `sslmode` and their meaning in libpq; `no-verify` is the name of `require` in node-postgres. */
const modes = ['disable', 'allow', 'prefer', 'require', 'no-verify', 'verify-ca', 'verify-full'] as const;
type Mode = (typeof modes)[number];

/** The first message of a connection with TLS. The server sends `S` or `N`. */
const tlsRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const PROBE_MS = 5000;
/** Whether servers have TLS, by host and port. They are asked once. */
const known = new Map<string, boolean>();

/**
 * Reads the TLS settings of the URL of a database as libpq does: node-postgres verifies certificates with `require`, too, and the
 * servers of many operators have one that only their own authority certifies.
 *
 * @throws with the remedy if a value or a file is invalid
 * @see docs/guides/operating.md#postgresql
 */
export async function readPostgresSettings(text: string): Promise<PostgresSettings> {
  const url = URL.parse(text);
  if (url === null) return { connectionString: text };
  const take = (name: string): string | undefined => {
    const value = url.searchParams.get(name);
    url.searchParams.delete(name);
    return value ?? undefined;
  };
  take('uselibpqcompat');
  const root = take('sslrootcert') ?? process.env['PGSSLROOTCERT'];
  const certificate = take('sslcert') ?? process.env['PGSSLCERT'];
  const key = take('sslkey') ?? process.env['PGSSLKEY'];
  const sslmode = take('sslmode') ?? process.env['PGSSLMODE'];
  const connectionString = url.href;
  if (isSocket(url)) return { connectionString, ssl: false };
  const mode = readMode(sslmode, root);
  if (mode === undefined) return { connectionString: text };

  if (mode === 'disable') return { connectionString, ssl: false };
  if ((mode === 'allow' || mode === 'prefer') && !(await hasTls(url))) return { connectionString, ssl: false };
  const verifiesAuthority = mode.startsWith('verify-') || (mode === 'require' && root !== undefined);
  const ssl: ConnectionOptions = {
    rejectUnauthorized: verifiesAuthority,
    ...(root !== undefined && root !== 'system' && { ca: readPem('sslrootcert', root) }),
    ...(certificate !== undefined && { cert: readPem('sslcert', certificate) }),
    ...(key !== undefined && { key: readPem('sslkey', key) }),
    ...(verifiesAuthority && mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
  };
  return { connectionString, ssl };
}

/** Whether the server is at a socket of the machine, which has no TLS. */
const isSocket = ({ hostname, searchParams }: URL): boolean =>
  /^%2f/i.test(hostname) || searchParams.get('host')?.startsWith('/') === true;

/** @returns undefined if nothing is set, which means no TLS */
function readMode(mode: string | undefined, root: string | undefined): Mode | undefined {
  if (mode === undefined) return root === undefined ? undefined : 'verify-full';
  const found = modes.find((each) => each === mode);
  if (found === undefined) throw new Error(`sslmode is not one of ${modes.join(', ')}`);
  if (root === 'system' && found !== 'verify-full') throw new Error('sslrootcert=system needs sslmode=verify-full');
  return found;
}

function readPem(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`the file ${path} of ${name} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Whether a server accepts connections with TLS. If it cannot be reached, the client reports that. */
async function hasTls({ hostname, port }: URL): Promise<boolean> {
  const place = `${hostname}:${port}`;
  const before = known.get(place);
  if (before !== undefined) return before;
  const socket = connect(Number(port || 5432), hostname.replace(/^\[|\]$/g, ''));
  try {
    const found = await readFirst(socket);
    if (found === 'S' || found === 'N') known.set(place, found === 'S');
    return found !== 'N';
  } finally {
    socket.destroy();
  }
}

async function readFirst(socket: Socket): Promise<string> {
  socket.on('error', () => {}); // also later ones
  socket.write(tlsRequest);
  try {
    const [data] = (await once(socket, 'data', { signal: AbortSignal.timeout(PROBE_MS) })) as [Buffer];
    return data.toString('latin1');
  } catch {
    return '';
  }
}
