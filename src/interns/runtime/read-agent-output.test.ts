import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { LogRing, MAX_LOG_BYTES, readStart } from './log-ring.ts';
import { readAgentOutput } from './read-agent-output.ts';

describe('the output of an agent', () => {
  it('waits if it has too many lines, and none is lost', async () => {
    const logs = new LogRing(() => 0);
    const seen: string[] = [];
    logs.follow((line) => void seen.push(line));
    const stream = new PassThrough();
    readAgentOutput(stream, logs, 20);
    stream.write('\n'.repeat(6000));
    stream.write('later\n');
    await vi.waitFor(() => expect(stream.isPaused()).toBe(true));
    expect(seen).toHaveLength(6000);
    await vi.waitFor(() => expect(seen.at(-1)).toContain('later'));
    stream.destroy();
  });

  it('has a limited log, also after a restart with a larger file', async () => {
    const logs = new LogRing(() => 0);
    logs.write(Buffer.from('x'.repeat(3 * MAX_LOG_BYTES)));
    for (let line = 0; line < 100; line++) logs.write(Buffer.from(`${'y'.repeat(9000)}\n`));
    expect(Buffer.byteLength(logs.text)).toBeLessThanOrEqual(MAX_LOG_BYTES);
    let pieces = 0;
    const endless = Readable.from(
      (function* () {
        for (;;) {
          pieces++;
          yield Buffer.alloc(65_536, 'z');
        }
      })(),
    );
    expect(await readStart(endless)).toHaveLength(MAX_LOG_BYTES);
    expect(pieces).toBeLessThan(100);
  });
});
