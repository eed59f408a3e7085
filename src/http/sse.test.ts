import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { array, assert, constantFrom, integer, oneof, property, record, string } from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ResponseEvent } from '../domain/events.ts';
import { EventStream, EventWriter } from './sse.ts';

/** An event as a client reads it. */
const read = (text: string): unknown[] =>
  text
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => JSON.parse(frame.slice('data: '.length)));

const delta = (fields: object): ResponseEvent =>
  ({
    type: 'response.output_text.delta',
    sequence_number: 4,
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    delta: 'a',
    logprobs: [],
    ...fields,
  }) as ResponseEvent;

describe('the writer of events', () => {
  it('writes the same as JSON.stringify, for any deltas', () => {
    const place = { item_id: constantFrom('msg_1', 'fc"2', 'rs_3'), output_index: constantFrom(0, 1, 2) };
    const text = { ...place, sequence_number: integer({ min: 0 }), delta: string({ unit: 'binary' }) };
    const event = oneof(
      record({
        type: constantFrom('response.output_text.delta'),
        ...text,
        content_index: constantFrom(0, 1),
        logprobs: constantFrom([], [{ token: 'a', logprob: -1 }]),
      }),
      record({
        type: constantFrom('response.refusal.delta', 'response.reasoning_text.delta'),
        ...text,
        content_index: constantFrom(0, 1),
      }),
      record({
        type: constantFrom('response.reasoning_summary_text.delta'),
        ...text,
        summary_index: constantFrom(0, 1),
      }),
      record({
        type: constantFrom('response.function_call_arguments.delta', 'response.custom_tool_call_input.delta'),
        ...text,
      }),
      record({ type: constantFrom('response.unheard_of'), sequence_number: integer(), mood: string() }),
    );
    assert(
      property(array(array(event)), (batches) => {
        const writer = new EventWriter();
        const written = batches
          .flat()
          .map((event) => writer.write(event as ResponseEvent))
          .join('');
        expect(read(written)).toEqual(JSON.parse(JSON.stringify(batches.flat())));
        expect(written).not.toMatch(/[\r]|\n\n\n/);
      }),
    );
  });
});

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Serves one run to one client that does not read yet. */
async function serve(
  run: (raw: ServerResponse) => Promise<void>,
): Promise<{ answer: IncomingMessage; over: Promise<void> }> {
  const { promise: over, resolve, reject } = Promise.withResolvers<void>();
  server = createServer((_request, raw) => void run(raw).then(resolve, reject)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const asked = get(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return { answer, over };
}

const options = { headers: () => ({}), keepAliveMs: 0 };
const completed = { type: 'response.completed', sequence_number: 9, response: {} } as ResponseEvent;

describe('a stream to a client', () => {
  it('accepts at most one batch more than the client reads', async () => {
    let batches = 0;
    let max = 0;
    const { answer, over } = await serve(async (raw) => {
      const stream = new EventStream(raw, options);
      for (; batches < 2000; batches++) {
        max = Math.max(max, raw.writableLength);
        await stream.write([delta({ delta: 'x'.repeat(16_384) })]); // 32 MiB in all
      }
      await stream.write([completed]);
      stream.end();
    });
    let last = -1;
    await vi.waitUntil(
      () => {
        const isStill = batches === last && batches > 0;
        last = batches;
        return isStill;
      },
      { interval: 100 },
    );
    expect(batches).toBeLessThan(1500);
    expect(max).toBeLessThan(64 * 1024);
    let text = '';
    for await (const piece of answer.setEncoding('latin1')) text += piece;
    await over;
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(text.length).toBeGreaterThan(2000 * 16_384);
  });

  it('stops waiting if the client disconnects', async () => {
    const { answer, over } = await serve(async (raw) => {
      const stream = new EventStream(raw, options);
      while (!raw.destroyed) await stream.write([delta({ delta: 'x'.repeat(65_536) })]);
    });
    answer.destroy();
    await over;
  });

  it('starts with the first event, so that an earlier error keeps its status', async () => {
    const { answer, over } = await serve(async (raw) => {
      const stream = new EventStream(raw, options);
      expect(stream.begun).toBe(false);
      stream.stop();
      raw.writeHead(502).end('told otherwise');
    });
    await over;
    expect(answer.statusCode).toBe(502);
    answer.resume();
  });

  it('sends comments while it is idle, until it stops', async () => {
    const { answer, over } = await serve(async (raw) => {
      const stream = new EventStream(raw, { ...options, keepAliveMs: 20 });
      await vi.waitUntil(() => stream.begun);
      stream.stop();
      stream.end();
    });
    let text = '';
    for await (const piece of answer.setEncoding('latin1')) text += piece;
    await over;
    expect(text).toMatch(/^(: ROUTER PROCESSING\n\n)+$/);
  });

  it('writes large events in turns of their own, in order, and ends after them', async () => {
    const large = ['a', 'b', 'c'].map((letter) => ({ type: 'x', sequence_number: 1, text: letter.repeat(1_100_000) }));
    const sent: number[] = [];
    const { answer, over } = await serve(async (raw) => {
      const stream = new EventStream(raw, options);
      const writing = stream.write([...large, delta({})] as ResponseEvent[]);
      sent.push(raw.socket!.bytesWritten + raw.socket!.writableLength);
      stream.write([completed]); // a run that fails now
      stream.end();
      await writing;
      sent.push(raw.socket!.bytesWritten + raw.socket!.writableLength);
    });
    let text = '';
    for await (const piece of answer.setEncoding('latin1')) text += piece;
    await over;
    expect(sent[0]).toBeLessThan(2_000_000); // only the first one
    expect(sent[1]).toBeGreaterThan(3_000_000);
    const frames = text.split('\n\n').slice(0, -1);
    expect(frames.slice(0, 3).map((frame) => frame.at(-3))).toEqual(['a', 'b', 'c']);
    expect(frames.at(-1)).toBe('data: [DONE]');
    expect(JSON.parse(frames.at(-2)!.slice(6))).toEqual(completed);
  });
});
