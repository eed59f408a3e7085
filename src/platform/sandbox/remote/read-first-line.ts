import type { RemoteContainer } from './remote-process.ts';

const MAX_BYTES = 1000;

/**
 * Starts a process in a container, and reads the first line of its standard output.
 *
 * @returns the line, or what the process has written when it ends; empty: it wrote nothing in time. `close` closes the
 * connection to it.
 */
export async function readFirstLine(
  container: RemoteContainer,
  command: readonly string[],
  timeoutMs: number,
): Promise<{ line: string; close(): void }> {
  const said = Promise.withResolvers<string>();
  let output = '';
  const process = await container.start(command, {
    output(stream, bytes) {
      if (stream === 'stdout' && output.length < MAX_BYTES) output += bytes.toString('latin1');
      if (output.endsWith('\n')) said.resolve(output.trim());
    },
    closed: () => said.resolve(output.trim()),
  });
  const timer = setTimeout(() => said.resolve(''), timeoutMs);
  const line = await said.promise;
  clearTimeout(timer);
  return { line, close: () => process.close() };
}
