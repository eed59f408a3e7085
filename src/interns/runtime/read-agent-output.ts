import type { Duplex } from 'node:stream';
import type { LogRing } from './log-ring.ts';

/** Output of an agent that is read in a period. An agent that writes more waits for the next one. choice 732 */
const MAX_BYTES = 1024 * 1024;
const MAX_LINES = 5000;
const PERIOD_MS = 1000;

/** Writes the output of an agent to its log. @returns a promise that resolves at the end of the output */
export function readAgentOutput(stream: Duplex, logs: LogRing, periodMs = PERIOD_MS): Promise<void> {
  let [bytes, lines] = [0, 0];
  let period: NodeJS.Timeout | undefined;
  const renew = (): void => {
    [bytes, lines, period] = [0, 0, undefined];
    stream.resume();
  };
  stream.on('data', (piece: Buffer) => {
    period ??= setTimeout(renew, periodMs).unref();
    bytes += piece.length;
    lines += logs.write(piece);
    if (bytes > MAX_BYTES || lines > MAX_LINES) stream.pause();
  });
  stream.on('error', () => {}); // its end says more
  return new Promise((resolve) => {
    stream.once('end', resolve);
    stream.once('close', () => {
      clearTimeout(period);
      resolve();
    });
  });
}
