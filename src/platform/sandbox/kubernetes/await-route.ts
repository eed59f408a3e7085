import { readFirstLine } from '../remote/read-first-line.ts';
import type { RemoteContainer } from '../remote/remote-process.ts';
import { SandboxError } from '../sandbox.ts';
import { readAddress, readPort } from './network-policy.ts';

/** More than the script takes. */
const MAX_MS = 60_000;

/** Connects until it succeeds: the network of a cluster applies a new policy after a while. It drops packets before. */
const CONNECT = `for try in {1..20}; do
  timeout 1 bash -c ': <>"/dev/tcp/$0/$1"' "$1" "$2" && echo ready && exit
  sleep 0.25
done 2>/dev/null
echo closed`;

/** Waits until a pod can connect to the egress proxy. @throws {SandboxError} that says what the operator has to check */
export async function awaitRoute(container: RemoteContainer, proxy: URL): Promise<void> {
  const [address, port] = [readAddress(proxy), readPort(proxy)];
  const { line, close } = await readFirstLine(
    container,
    ['bash', '-c', CONNECT, 'headgate', address, String(port)],
    MAX_MS,
  );
  close();
  if (line === 'ready') return;
  throw new SandboxError(
    'unavailable',
    `The pod of the sandbox cannot connect to the egress proxy at ${address}, port ${port} (tools.sandbox.kubernetes.egress).`,
  );
}
