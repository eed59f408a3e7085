import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Sink } from '../../domain/sink.ts';
import type { Frame } from '../../providers/wire.ts';
import { readResponse, type ResponseReader } from './read-response.ts';

const MIB = 1024 * 1024;
const MAX_PIECE = MIB;
const text = `${'🙂 and ü, '.repeat(400_000)}end`; // 3.8 MiB of UTF-16 units

interface TestChunk {
  type: string;
  delta?: string;
}

/** Frames are JSON lists of chunks. */
const wire: ResponseReader<TestChunk> = {
  createReader: () => ({ read: ({ data }: Frame) => JSON.parse(data) as TestChunk[], end: () => [] }),
  readWhole: (body) => body as TestChunk[],
};

let turn = 0;
let isCounting = true;
beforeEach(() => {
  isCounting = true;
  void (async () => {
    while (isCounting) {
      turn++;
      await nextTurn();
    }
  })();
});
afterEach(() => {
  isCounting = false;
});

/** Batches of chunks, with the turn of the event loop in which each arrived. */
class Batches implements Sink<TestChunk> {
  readonly list: { turn: number; chunks: TestChunk[] }[] = [];
  onWrite = (): void => {};

  write(chunks: TestChunk[]): undefined {
    this.list.push({ turn, chunks });
    this.onWrite();
  }

  get chunks(): TestChunk[] {
    return this.list.flatMap(({ chunks }) => chunks);
  }
}

async function read(out: Batches, body: string, type: string, failure?: Error): Promise<{ releases: number }> {
  const seen = { releases: 0 };
  const response = {
    status: 200,
    headers: { 'content-type': type },
    async each(sink: Sink<Buffer>) {
      const taken = sink.write([Buffer.from(body)]);
      if (failure) throw failure; // while the sink is busy
      await taken;
    },
    release: () => void seen.releases++,
  };
  const how = { wire, readerContext: undefined, name: 'P', limitBytes: 32 * MIB, isBuffered: false };
  await readResponse(response, how, out);
  return seen;
}

const finish = { type: 'finish' };
const forms: [string, string, (chunks: TestChunk[]) => string][] = [
  ['an event', 'text/event-stream', (chunks) => `data: ${JSON.stringify(chunks)}\n\n`],
  ['a whole body', 'application/json', (chunks) => JSON.stringify(chunks)],
];

describe.each(forms)('a long text in %s', (_, type, write) => {
  it('is passed on in pieces, each in a turn of the event loop of its own', async () => {
    const out = new Batches();
    const { releases } = await read(
      out,
      write([{ type: 'start' }, { type: 'text', delta: text }, { type: 'text', delta: 'x' }, finish]),
      type,
    );
    const deltas = out.chunks.flatMap(({ delta }) => (delta === undefined ? [] : [delta]));
    expect(deltas.join('') === `${text}x`).toBe(true);
    expect(deltas.every((delta) => delta.length <= MAX_PIECE && delta.isWellFormed())).toBe(true);
    expect(out.chunks.at(-1)).toEqual(finish);
    expect(new Set(out.list.map(({ turn }) => turn)).size).toBe(out.list.length);
    expect(out.list.length).toBeGreaterThan(4);
    expect(releases).toBeGreaterThan(0);
  });

  it('is not passed on any more once the attempt has failed', async () => {
    const out = new Batches();
    const failure = new Error('The connection broke.');
    await expect(read(out, write([{ type: 'text', delta: text }, finish]), type, failure)).rejects.toBe(failure);
    const count = out.list.length;
    for (let at = 0; at < 20; at++) await nextTurn();
    expect(out.list).toHaveLength(count);
  });
});

it('passes many chunks of a large event on in several turns', async () => {
  const out = new Batches();
  const chunks = Array.from({ length: 20_000 }, (_, at) => ({ type: 'annotation', delta: `${at} ${'x'.repeat(60)}` }));
  await read(out, `data: ${JSON.stringify([...chunks, finish])}\n\n`, 'text/event-stream');
  expect(out.chunks).toEqual([...chunks, finish]);
  expect(out.list.every(({ chunks }) => chunks.length <= 1000)).toBe(true);
  expect(new Set(out.list.map(({ turn }) => turn)).size).toBe(out.list.length);
});

it('passes the chunks of one network read on together', async () => {
  const out = new Batches();
  const frame = `data: ${JSON.stringify([{ type: 'text', delta: 'x' }])}\n\n`;
  await read(out, `${frame}${frame}data: ${JSON.stringify([finish])}\n\n`, 'text/event-stream');
  expect(out.list).toHaveLength(1);
});
