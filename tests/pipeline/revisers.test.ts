import { afterEach, describe, expect, it } from 'vitest';
import type { Chunk } from '../../src/domain/chunks.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import { BufferedChunks } from '../../src/domain/buffered-chunks.ts';
import type { Reviser, RevisingSink } from '../../src/domain/reviser.ts';
import type { Sink } from '../../src/domain/sink.ts';
import type { Run } from '../../src/pipeline/run/run.ts';
import { checkEvents } from '../api/check-events.ts';
import { modes, openPipelineLab, type PipelineLab } from './lab.ts';

/** Buffers text until it contains a mark or the output ends, and writes it in capitals. */
class Capitals implements RevisingSink {
  static abandoned = 0;
  private readonly buffer = new BufferedChunks();
  private readonly out: Sink<Chunk>;
  private isOpen = false;

  constructor(out: Sink<Chunk>) {
    this.out = out;
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    const isFull = !this.buffer.add(chunks);
    this.isOpen ||= isFull || chunks.some((chunk) => isMark(chunk) || chunk.type === 'finish');
    return this.isOpen ? this.out.write(this.buffer.release().map(raise)) : undefined;
  }

  abandon(): void {
    Capitals.abandoned++;
    this.buffer.release();
  }
}

const isMark = (chunk: Chunk): boolean => chunk.type === 'text' && chunk.delta.includes('!');
const raise = (chunk: Chunk): Chunk => (chunk.type === 'text' ? { ...chunk, delta: chunk.delta.toUpperCase() } : chunk);

const capitals: Reviser<Run> = { open: (_run, out) => new Capitals(out) };

/** Passes everything on in a later turn of the event loop. */
const slow: Reviser<Run> = {
  open: (_run, out) => ({
    write: (chunks) => new Promise<void>((done) => setImmediate(done)).then(() => out.write(chunks)),
    abandon() {},
  }),
};

let lab: PipelineLab;
afterEach(() => lab.close());
const open = async (servers: number, ...revisers: Reviser<Run>[]) => {
  Capitals.abandoned = 0;
  lab = await openPipelineLab(servers, {
    plugins: revisers.map((reviser, at) => ({ id: `reviser-${at}`, prepare: () => reviser })),
  });
};
const said = (text: string) => ({ output: [{ type: 'message', content: [{ text }] }] });

describe('a reviser that buffers text', () => {
  it.each(modes)('sends the client its output, %s', async (mode) => {
    await open(1, capitals);
    lab.script('openai-chat', 0, { text: 'one two! three' });
    const { response, events } = await lab.respond('openai-chat', mode);

    if (mode === 'streamed') checkEvents(events);
    expect(response).toMatchObject({ status: 'completed', ...said('ONE TWO! THREE') });
    expect(Capitals.abandoned).toBe(0);
  });

  it('allows fallback until it passes text on', async () => {
    await open(2, capitals);
    lab.script('openai-chat', 0, { text: 'alpha beta', after: 'failure' });
    lab.script('openai-chat', 1, { text: 'three! four' });
    const { response, events, run } = await lab.respond('openai-chat', 'streamed');

    checkEvents(events);
    expect(response).toMatchObject({ status: 'completed', ...said('THREE! FOUR') });
    expect(JSON.stringify(events)).not.toMatch(/\b(?:alpha|beta)\b/i);
    expect(Capitals.abandoned).toBe(1);
    expect(run.steps[0]!.committed?.endpoint.provider.name).toBe('Server 1');
  });

  it('keeps the HTTP status of a failure, and the output of the provider is charged', async () => {
    await open(1, capitals);
    lab.script('openai-chat', 0, { text: 'one two', after: 'failure' });
    const { events, error, run } = await lab.respond('openai-chat', 'streamed');

    expect(events).toEqual([]);
    expect(error).toBeInstanceOf(GatewayError);
    expect(run.firstOutputAt).toBeUndefined();
    expect(run.steps[0]!.attempts[0]!.firstOutputAt).toBeDefined();
    expect(lab.entries).toMatchObject([
      { outcome: 'failed', estimated: true, outputTokens: Math.ceil('one two'.length / 4), firstOutputMs: null },
    ]);
  });

  it('is charged for all output of the provider, including text that it dropped', async () => {
    const dropAll: Reviser<Run> = {
      open: (_run, out) => ({
        write: (chunks) => out.write(chunks.map((chunk) => (chunk.type === 'text' ? { ...chunk, delta: '' } : chunk))),
        abandon() {},
      }),
    };
    await open(1, dropAll);
    const text = 'one two three four five six seven eight';
    lab.script('openai-chat', 0, { text, after: 'failure' });
    const { response } = await lab.respond('openai-chat', 'streamed');

    expect(response).toMatchObject({ status: 'failed', ...said('') });
    expect(lab.entries).toMatchObject([{ estimated: true, outputTokens: 8 }]);
  });

  it('measures the time to the first output of the client', async () => {
    await open(1, capitals);
    lab.script('openai-chat', 0, { text: 'one two three! four', slowMs: 20 });
    const { run } = await lab.respond('openai-chat', 'streamed');

    expect(run.firstOutputAt).toBeGreaterThan(run.steps[0]!.attempts[0]!.firstOutputAt!);
  });

  it('passes its buffer on if it is full', () => {
    const buffer = new BufferedChunks(10);
    expect(buffer.add([{ type: 'text', delta: '12345' }])).toBe(true);
    expect(buffer.add([{ type: 'text', delta: '12345' }])).toBe(false);
    expect(buffer.release()).toHaveLength(2);
    expect(buffer.add([{ type: 'text', delta: '12345' }])).toBe(true);
  });
});

describe.each(modes)('an asynchronous reviser, %s', (mode) => {
  it('is awaited at the end', async () => {
    await open(1, slow, capitals);
    lab.script('openai-responses', 0, { text: 'one two!' });
    const { response, events } = await lab.respond('openai-responses', mode);

    if (mode === 'streamed') checkEvents(events);
    expect(response).toMatchObject({ status: 'completed' });
    expect(lab.entries).toMatchObject([{ outcome: 'completed' }]);
  });

  it('fails the run if it blocks the output', async () => {
    const refusal = new GatewayError('permission_denied', 'The output is blocked.');
    await open(2, {
      open: () => ({
        async write(chunks) {
          if (chunks.some(({ type }) => type === 'finish')) throw refusal;
        },
        abandon() {},
      }),
    });
    lab.script('openai-chat', 0, { text: 'one' });
    const { error, events } = await lab.respond('openai-chat', mode);

    expect(events).toEqual([]);
    expect(error).toBe(refusal);
    expect(lab.upstreams.map(({ requests }) => requests.length)).toEqual([1, 0]);
    expect(lab.entries).toMatchObject([{ outcome: 'failed', status: 403 }]);
  });

  it('fails the run if it drops the finish chunk', async () => {
    await open(1, { open: () => ({ write: () => undefined, abandon() {} }) });
    lab.script('openai-chat', 0, { text: 'one' });
    const { error, events } = await lab.respond('openai-chat', mode);

    expect(events).toEqual([]);
    expect(error).toMatchObject({ kind: 'internal' });
  });
});

it('revisers act in the order of their plugins, each on the output of the previous one', async () => {
  const adding = (mark: string): Reviser<Run> => ({
    open: (_run, out) => ({
      write: (chunks) =>
        out.write(
          chunks.flatMap((chunk): Chunk[] =>
            chunk.type === 'finish' ? [{ type: 'text', delta: mark }, chunk] : [chunk],
          ),
        ),
      abandon() {},
    }),
  });
  await open(1, adding('a'), adding('b'), capitals);
  lab.script('openai-chat', 0, { text: 'one ' });
  const { response } = await lab.respond('openai-chat', 'buffered');

  expect(response).toMatchObject(said('ONE AB'));
});
