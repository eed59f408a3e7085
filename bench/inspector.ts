import { RigError } from './rig.ts';

/**
 * Has a Node process that was started with `--inspect` collect its garbage, so that what is left is what it needs.
 *
 * @param port of its inspector, on loopback
 */
export async function collectGarbage(port: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [target] = (await answer.json()) as { webSocketDebuggerUrl: string }[]; // the inspector's protocol
  if (!target) throw new RigError('The inspector has nothing to inspect.');
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = () => reject(new RigError('The inspector did not collect garbage.'));
      setTimeout(fail, 10_000).unref();
      socket.addEventListener('error', fail);
      socket.addEventListener('open', () =>
        socket.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' })),
      );
      socket.addEventListener('message', () => resolve());
    });
  } finally {
    socket.close();
  }
}
