import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ScriptedResponse, sse } from '../../src/testing/scripted-responses.ts';
import { readStream } from '../../src/testing/test-gateway.ts';
import { endFrames, type Lab, openFrames, openLab, type WireName, wires } from './lab.ts';
import { readRows } from './ledger-rows.ts';
import { openSocket, type TestSocket, textOf } from './open-socket.ts';
import { expectText, readOutcome } from './outcome.ts';
import { patient } from '../../src/testing/patience.ts';

const MiB = 1024 * 1024;
/** The buffers of the kernel for the two connections, each with two ends: about 6 MiB each way on loopback. */
const kernelBytes = 16 * MiB;
/** One delta of 32 KiB. */
const word = 'slow '.repeat(6554);

let lab: Lab;
beforeAll(async () => {
  lab = await openLab({ server: { keep_alive_comment_ms: 20 } });
});
afterAll(() => lab.close());

const frameText = (frames: object[]): Buffer =>
  Buffer.from(frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join(''));

/** A stream of deltas that counts the bytes that the connection accepted. */
function counted(wire: WireName, deltas: number, said = word): { answer: ScriptedResponse; written: number } {
  const piece = frameText(openFrames(wire, [said]).slice(-1));
  const counter = { written: 0, answer: sse('') };
  async function* pieces(): AsyncGenerator<Buffer> {
    yield frameText(openFrames(wire, []));
    for (let count = 0; count < deltas; count++) {
      yield piece;
      counter.written += piece.length; // the next one is requested, so the kernel has this one
    }
    yield frameText(endFrames(wire, said.repeat(deltas)));
  }
  counter.answer = { ...sse(''), pieces };
  return counter;
}

/** Sends the request and reads nothing until requested. */
function askSlowly(wire: WireName, { gateway }: Lab = lab): Socket {
  const { port, hostname } = new URL(gateway.url);
  const body = JSON.stringify({ model: `${wire}/patient`, input: 'x', stream: true });
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(
    `POST /api/v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
  return socket;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns the bytes that this process uses, in the heap and outside. */
async function heldBytes(): Promise<number> {
  for (let round = 0; round < 2; round++) {
    collectGarbage();
    await delay(20); // buffers are freed in the background
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Resolves when the count has been constant for a while after a change. */
async function standstill(counter: { written: number }): Promise<number> {
  let last = -1;
  for (let still = 0; still < 10; await delay(30)) {
    still = counter.written === last && last > 0 ? still + 1 : 0;
    last = counter.written;
  }
  return last;
}

/** The same over a WebSocket. */
async function askSlowlyOverSocket(wire: WireName): Promise<TestSocket> {
  const socket = await openSocket(`${lab.gateway.baseUrl}/responses`, lab.gateway.key);
  socket.webSocket.pause();
  socket.send({ type: 'response.create', model: `${wire}/patient`, input: 'x' });
  return socket;
}

const slowTransports = [
  ['HTTP', async (wire: WireName) => askSlowly(wire)],
  ['a WebSocket', async (wire: WireName) => ({ destroy: (await askSlowlyOverSocket(wire)).leave })],
] as const;

describe.each(wires)('%s, a client that does not read', (wire) => {
  it.each(slowTransports)('slows the provider down, and nothing accumulates: %s', async (_name, ask) => {
    const counter = counted(wire, 3200); // 100 MiB
    lab.upstream.always(counter.answer);
    const before = await heldBytes();
    const socket = await ask(wire);
    const written = await standstill(counter);
    const held = (await heldBytes()) - before;
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThan(kernelBytes);
    // The gateway, the provider and the client are all in this process. The text so far has to be kept: the last event
    // repeats it.
    expect(held - written).toBeLessThan(8 * MiB); // of 100 MiB
    socket.destroy();
    expect(await lab.upstream.requests.at(-1)?.closed).toBe('aborted');
  });

  it('is not waited for after the deadline: the request to the provider is aborted, and the run is recorded', async () => {
    const hasty = await openLab({ timeouts: { request_ms: patient(1500) } });
    hasty.upstream.always(counted(wire, 3200).answer);
    const socket = askSlowly(wire, hasty);
    const request = await hasty.upstream.nextRequest();
    expect(await request.closed).toBe('aborted');
    const row = await vi.waitFor(
      () => {
        const [found] = readRows(hasty.gateway.dataDir);
        expect(found).toBeDefined();
        return found;
      },
      { interval: 20 },
    );
    expect(row).toMatchObject({ outcome: 'failed', status: 408 });
    socket.destroy();
    await hasty.close();
  });

  it.each([
    ['letters', word, 400],
    // A connection that counts bytes is full where one that counts characters is not.
    ['characters of three bytes', '慢'.repeat(30_000), 140],
  ])('gets the complete stream in order as soon as it reads: %s', async (_name, said, deltas) => {
    const counter = counted(wire, deltas, said); // 12.5 MiB
    lab.upstream.always(counter.answer);
    const socket = askSlowly(wire);
    await standstill(counter);
    const pieces: Buffer[] = [];
    for await (const piece of socket) pieces.push(piece as Buffer);
    const raw = Buffer.concat(pieces).toString('latin1');
    const head = raw.indexOf('\r\n\r\n');
    const headers = Object.fromEntries(
      raw
        .slice(0, head)
        .split('\r\n')
        .slice(1)
        .map((line) => line.split(': ') as [string, string]),
    );
    const outcome = readOutcome(
      await readStream(new Response(Buffer.from(unchunked(raw.slice(head + 4)), 'latin1'), { headers })),
    );
    expectText(outcome, said.repeat(deltas));
  });

  it('gets the complete stream over a WebSocket as soon as it reads', async () => {
    const counter = counted(wire, 400);
    lab.upstream.always(counter.answer);
    const socket = await askSlowlyOverSocket(wire);
    await standstill(counter);
    socket.webSocket.resume();
    expect(textOf(await socket.readResponse())).toBe(word.repeat(400));
    socket.leave();
  });
});

/** The body without the framing of its chunks; each character is a byte. */
function unchunked(body: string): string {
  let text = '';
  for (let at = 0; ; ) {
    const lineEnd = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.slice(at, lineEnd), 16);
    if (!(size > 0)) return text;
    text += body.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
}
