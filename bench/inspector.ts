import { RigError } from './rig.ts';

/**
 * Triggers a garbage collection in a Node process that was started with `--inspect`.
 *
 * @param port of its inspector, on loopback
 */
export async function collectGarbage(port: number): Promise<void> {
  await callInspector(port, [{ method: 'HeapProfiler.collectGarbage' }]);
}

/** Returns the bytes of the heap and outside of it that are in use after a garbage collection. */
export async function measureUsedBytes(port: number): Promise<number> {
  const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())';
  const collect = { method: 'HeapProfiler.collectGarbage' };
  const evaluate = { method: 'Runtime.evaluate', params: { expression, returnByValue: true } };
  const { result } = (await callInspector(port, [collect, collect, evaluate])) as { result?: { value?: unknown } };
  if (typeof result?.value !== 'number') throw new RigError('The inspector did not measure the heap.');
  return result.value;
}

/** Calls methods of the inspector one after the other. @returns the result of the last one */
async function callInspector(port: number, calls: readonly { method: string; params?: object }[]): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [target] = (await answer.json()) as { webSocketDebuggerUrl: string }[]; // the inspector's protocol
  if (!target) throw new RigError('The inspector has no target.');
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  try {
    return await new Promise<unknown>((resolve, reject) => {
      const fail = () => reject(new RigError('The inspector did not respond.'));
      setTimeout(fail, 20_000).unref();
      const send = (id: number) => socket.send(JSON.stringify({ id, ...calls[id] }));
      socket.addEventListener('error', fail);
      socket.addEventListener('open', () => send(0));
      socket.addEventListener('message', ({ data }) => {
        const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown };
        if (id === undefined) return; // a notification
        if (id === calls.length - 1) resolve(result);
        else send(id + 1);
      });
    });
  } finally {
    socket.close();
  }
}
