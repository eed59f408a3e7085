import { NO_PROXY_SOCKET, nodeRelay, perlRelay, PROXY_SOCKET, pythonRelay } from '../network-relay.ts';
import { readFirstLine } from '../remote/read-first-line.ts';
import type { RemoteContainer } from '../remote/remote-process.ts';
import { SandboxError } from '../sandbox.ts';

const START_MS = 30_000;

/** Runs the relay with the first of three programs that the image has: choice 601. Says the exit code if it fails. */
const RELAY = `run() {
  perl -MSocket -MFcntl -MErrno -e 1 </dev/null &>/dev/null && exec perl -e "$2" "$1"
  python3 -I -S -c 'import select, socket' </dev/null &>/dev/null && exec python3 -I -S -c "$3" "$1"
  node -e 0 </dev/null &>/dev/null && exec node -e "$4" "$1"
  exit 127
}
(run "$@") </dev/null 2>/dev/null
echo "ended $?"`;

const explanations: Readonly<Record<string, string>> = {
  127: 'The image of the sandbox has none of Perl, Python 3 and Node, one of which a network_policy needs.',
  [NO_PROXY_SOCKET]:
    'The sandbox cannot connect to the socket of its network proxy. With gVisor, start runsc with --host-uds=open.',
};

/**
 * Starts the relay to the egress proxy in a container, and waits until it listens.
 *
 * @param ended aborted when the sandbox ends
 * @throws {SandboxError} that says what the image or the service needs
 */
export async function startRelay(container: RemoteContainer, ended: AbortSignal): Promise<void> {
  const command = ['bash', '-c', RELAY, 'headgate', PROXY_SOCKET, perlRelay, pythonRelay, nodeRelay];
  const { line: result, close } = await readFirstLine(container, command, START_MS);
  ended.addEventListener('abort', close, { once: true });
  if (result === 'ready') return;
  close();
  const code = /^ended (\d+)$/.exec(result)?.[1] ?? '';
  throw new SandboxError('unavailable', explanations[code] ?? 'The relay to the network proxy does not start.');
}
