import type { Duplex } from 'node:stream';
import type { Sandbox } from './sandbox.ts';

/**
 * Passes standard input and output on to a port of the sandbox. It ends with its input. The end of the server is the end of
 * its output, after which the gateway closes the input. Every image has bash, but not always a language: choice 676.
 */
const RELAY = `exec 4<>/dev/tcp/127.0.0.1/$PORT || exit 7
cat <&4 & to=$!
exec 1>&-
cat >&4
kill $to`;

/**
 * Connects to a server in a sandbox, which needs no network for that. The stream ends at once if none listens.
 *
 * @throws {SandboxError}
 */
export async function connectToPort(sandbox: Pick<Sandbox, 'start'>, port: number): Promise<Duplex> {
  const { stream } = await sandbox.start({ command: RELAY, environment: { PORT: String(port) } });
  return stream;
}
