import type { Duplex } from 'node:stream';
import type { Sandbox } from './sandbox.ts';

/**
 * Passes standard input and output on to a port of the sandbox. It ends when one of both ends. Every image has bash, but
 * not always a language: choice 676.
 */
const RELAY = `exec 4<>/dev/tcp/127.0.0.1/$PORT || exit 7
cat <&0 >&4 & from=$!
cat <&4 & to=$!
exec 0<&- 1>&- 4>&-
wait -n
kill $from $to`;

/**
 * Connects to a server in a sandbox, which needs no network for that. The stream ends at once if none listens.
 *
 * @throws {SandboxError}
 */
export async function connectToPort(sandbox: Pick<Sandbox, 'start'>, port: number): Promise<Duplex> {
  const { stream } = await sandbox.start({ command: RELAY, environment: { PORT: String(port) } });
  return stream;
}
