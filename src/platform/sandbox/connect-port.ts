import type { Duplex } from 'node:stream';
import type { Sandbox } from './sandbox.ts';

/**
 * Connects standard input and output with a port of the sandbox. The program ends when its input ends. When the server ends
 * the connection, the output ends, and the gateway closes the input. Every image has bash, but not always a language: choice 676.
 */
const RELAY = `exec 4<>/dev/tcp/127.0.0.1/$PORT || exit 7
cat <&4 & to=$!
exec 1>&-
cat >&4
kill $to`;

/**
 * Connects to a server in a sandbox, which needs no network for that. The stream ends immediately if no server listens.
 *
 * @throws {SandboxError}
 */
export async function connectToPort(sandbox: Pick<Sandbox, 'start'>, port: number): Promise<Duplex> {
  const { stream } = await sandbox.start({ command: RELAY, environment: { PORT: String(port) } });
  return stream;
}
