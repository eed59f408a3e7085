import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { pull } from '../testing/pull.ts';
import { type UpstreamBody, createUpstreamBody, type FlowControl } from './upstream-body.ts';

const connection = (): FlowControl & { isPaused: boolean } => ({
  isPaused: false,
  pause() {
    this.isPaused = true;
  },
  resume() {
    this.isPaused = false;
  },
});

async function readAll(body: UpstreamBody): Promise<string> {
  const pieces: Buffer[] = [];
  await body.each({ write: (batch) => void pieces.push(...batch) });
  return Buffer.concat(pieces).toString();
}

describe('the body of a response', () => {
  it('gives all that has come since the last time, at once', async () => {
    const body = createUpstreamBody(undefined, 'Acme', connection());
    const { read } = pull(body);
    body.push(Buffer.from('a'));
    body.push(Buffer.from('b'));
    expect(Buffer.concat((await read())!).toString()).toBe('ab');
    const next = read();
    body.push(Buffer.from('c'));
    expect(Buffer.concat((await next)!).toString()).toBe('c');
    body.end();
    expect(await read()).toBeUndefined();
    expect(await read()).toBeUndefined();
  });

  it('reports a failure after what came before it, at each read', async () => {
    const body = createUpstreamBody('identity', 'Acme', connection());
    const { read } = pull(body);
    body.push(Buffer.from('a'));
    body.fail(new Error('cut'));
    body.fail(new Error('later'));
    expect(await read()).toHaveLength(1);
    await expect(read()).rejects.toThrow('cut');
    await expect(read()).rejects.toThrow('cut');
  });

  it('ends at once if it is aborted, although its sink is not ready', async () => {
    const body = createUpstreamBody(undefined, 'Acme', connection());
    const over = body.each({ write: () => new Promise(() => {}) });
    body.push(Buffer.from('a'));
    await new Promise((resolve) => setImmediate(resolve));
    body.push(Buffer.from('b'));
    body.cut(new Error('left'));
    await expect(over).rejects.toThrow('left');
  });

  it('does not fail any more when it has ended', async () => {
    const body = createUpstreamBody('', 'Acme', connection());
    const { read } = pull(body);
    body.end();
    body.fail(new Error('late'));
    expect(await read()).toBeUndefined();
  });

  it('pauses the connection while much is unread, and lets it go on when it is read', async () => {
    const line = connection();
    const body = createUpstreamBody(undefined, 'Acme', line);
    const { read } = pull(body);
    body.push(Buffer.alloc(200 * 1024));
    expect(line.isPaused).toBe(false);
    body.push(Buffer.alloc(100 * 1024));
    expect(line.isPaused).toBe(true);
    await read();
    expect(line.isPaused).toBe(false);
  });

  it.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['GZIP', gzipSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
    ['deflate', deflateSync],
  ])('is unpacked when it is %s, wherever it is cut', async (encoding, pack) => {
    const body = createUpstreamBody(encoding, 'Acme', connection());
    for (const byte of pack('Grüße '.repeat(100))) body.push(Buffer.of(byte));
    body.end();
    expect(await readAll(body)).toBe('Grüße '.repeat(100));
  });

  it.each(['gzip, br', 'compress'])('is a failure when its encoding is %s', async (encoding) => {
    const body = createUpstreamBody(encoding, 'Acme', connection());
    const { read } = pull(body);
    body.push(Buffer.from('a'));
    body.end();
    await expect(read()).rejects.toMatchObject({
      kind: 'upstream_failed',
      message: expect.stringContaining(encoding),
    });
  });

  it('is a failure if it does not match its encoding, or has no end', async () => {
    for (const packed of [Buffer.from('plain'), gzipSync('x'.repeat(1000)).subarray(0, 20)]) {
      const body = createUpstreamBody('gzip', 'Acme', connection());
      body.push(packed);
      body.end();
      await expect(readAll(body)).rejects.toThrow('content-encoding (gzip) cannot be read');
    }
  });

  it('unpacks no more than somebody reads', async () => {
    const line = connection();
    const body = createUpstreamBody('gzip', 'Acme', line);
    const { read } = pull(body);
    body.push(gzipSync(Buffer.alloc(50_000_000))); // 50 kB
    body.end();
    await vi.waitUntil(() => line.isPaused);
    const first = Buffer.concat((await read())!).length;
    expect(first).toBeLessThan(1_000_000);
    let rest = 0;
    for (let batch = await read(); batch !== undefined; batch = await read()) {
      const bytes = Buffer.concat(batch).length;
      expect(bytes).toBeLessThan(1_000_000);
      rest += bytes;
    }
    expect(first + rest).toBe(50_000_000);
  });
});
