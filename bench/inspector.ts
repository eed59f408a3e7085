import { RigError } from './rig.ts';

/**
 * Triggers a garbage collection in a Node process that was started with `--inspect`.
 *
 * @param port of its inspector, on loopback
 */
export async function collectGarbage(port: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [target] = (await answer.json()) as { webSocketDebuggerUrl: string }[]; // the inspector's protocol
  if (!target) throw new RigError('The inspector has no target.');
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = () => reject(new RigError('The garbage collection failed.'));
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
