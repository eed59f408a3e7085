import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Answer,
  chunkedWithoutEnd,
  contentLengthTooLong,
  drip,
  json,
  resetAfter,
  resetBeforeHeaders,
  stallAfter,
  stallBeforeHeaders,
} from '../../src/testing/answers.ts';
import {
  answer,
  bytesUntil,
  type Case,
  cases,
  type Lab,
  openFrames,
  openLab,
  stream,
  streamText,
  type WireName,
  wholeBody,
  wires,
} from './lab.ts';
import { expectBroken, expectFailure, expectText } from './outcome.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
});
afterAll(() => lab.close());

/** Cut in the middle: half of the JSON, or the stream behind its first words. */
function begun({ wire, mode }: Case): { answer: Answer; bytes: number } {
  if (mode === 'buffered') return { answer: json(wholeBody(wire)), bytes: 100 };
  const text = streamText(wire);
  return { answer: answer({ wire, mode }, 'Hello there.'), bytes: bytesUntil(text, ' there.') };
}

/** The beginning of a stream, with its words, and then what happens. */
const words = (wire: WireName): Answer => stream(wire, openFrames(wire, ['Hel', 'lo']), { done: false });

describe.each(cases)('$wire, $mode', (how) => {
  const { wire, mode } = how;

  it('answers 502 when the connection is refused', async () => {
    await lab.upstream.down();
    const outcome = await lab.ask(how);
    await lab.upstream.up();
    expectFailure(outcome, 502, 'provider_unavailable', /cannot be reached \(ECONNREFUSED\)/);
  });

  it('answers 502 when the connection is reset before the headers', async () => {
    lab.upstream.always(resetBeforeHeaders());
    expectFailure(await lab.ask(how), 502, 'provider_unavailable', /closed the connection/);
  });

  it('answers 524 when the headers do not come in time', async () => {
    lab.upstream.always(stallBeforeHeaders());
    const outcome = await lab.ask(how, { model: `${wire}/hasty` });
    expectFailure(outcome, 524, 'timeout', /no answer within 300 ms/);
    expect(await lab.upstream.requests.at(-1)?.closed).toBe('aborted');
  });

  it('answers 524 when the provider falls silent before any output', async () => {
    lab.upstream.always(stallAfter(20, begun(how).answer));
    const outcome = await lab.ask(how, { model: `${wire}/hasty` });
    expectFailure(outcome, 524, 'timeout', /silent for 300 ms/);
    expect(await lab.upstream.requests.at(-1)?.closed).toBe('aborted');
  });

  it('answers 524 to an answer that drips without end before any output', async () => {
    lab.upstream.always(drip(json(' '.repeat(10_000)), 1, 20));
    const outcome = await lab.ask(how, { model: `${wire}/hasty` });
    expectFailure(outcome, 524, 'timeout', /longer than 900 ms in all/);
    expect(await lab.upstream.requests.at(-1)?.closed).toBe('aborted');
  });

  it('answers 502 when a chunked body has no end', async () => {
    const half = chunkedWithoutEnd(resetless(begun(how)));
    lab.upstream.always(half);
    expectFailure(await lab.ask(how), 502, 'provider_unavailable', /closed the connection/);
  });

  it('answers 502 when the body is shorter than its content-length', async () => {
    lab.upstream.always(contentLengthTooLong({ ...json(wholeBody(wire)) }));
    expectFailure(await lab.ask(how), 502, 'provider_unavailable', /closed the connection/);
  });

  it('serves the next request after each of these', async () => {
    lab.upstream.always(answer(how));
    expectText(await lab.ask(how, { model: `${wire}/hasty` }), 'Hello there.');
    expectText(await lab.ask(how), 'Hello there.');
  });

  it('books a failed request at no cost', async () => {
    lab.upstream.always(resetBeforeHeaders());
    const { headers } = await lab.ask(how);
    const generation = await lab.gateway.get(`/generation?id=${headers.get('x-generation-id')}`);
    expect(await generation.json()).toMatchObject({
      data: { status: 502, error_type: 'provider_unavailable', total_cost: 0, tokens_completion: 0 },
    });
  });

  it(`answers ${mode === 'buffered' ? '502' : 'response.failed'} when it is reset in the middle`, async () => {
    const { answer: whole, bytes } = begun(how);
    lab.upstream.always(resetAfter(bytes, whole));
    const outcome = await lab.ask(how);
    if (mode === 'buffered') expectFailure(outcome, 502, 'provider_unavailable', /closed the connection/);
  });
});

describe.each(cases)('$wire, $mode, answered by a stream that breaks behind its first words', (how) => {
  const { wire, mode } = how;
  const breaks: [string, Answer, number, string, RegExp][] = [
    ['is reset', { ...words(wire), end: 'reset' }, 502, 'provider_unavailable', /closed the connection/],
    ['is closed without its end', { ...words(wire), end: 'close' }, 502, 'provider_unavailable', /closed the conn/],
    ['ends without its last frame', words(wire), 502, 'provider_unavailable', /ended its answer in the middle/],
    ['falls silent', { ...words(wire), end: 'silence' }, 524, 'timeout', /silent for 300 ms/],
    ['drips without end', stream(wire, dripping(wire)), 524, 'timeout', /longer than 900 ms in all/],
  ];

  it.each(breaks)('never passes for whole when it %s', async (name, broken, status, errorType, message) => {
    lab.upstream.always(broken);
    const outcome = await lab.ask(how, { model: `${wire}/hasty` });
    if (mode === 'buffered') return void expectFailure(outcome, status, errorType, message);
    if (name === 'drips without end') {
      expect(outcome.response).toMatchObject({ status: 'failed', error_type: errorType });
      return;
    }
    const response = expectBroken(outcome, errorType, 'Hello');
    expect(response.error).toEqual({ code: 'server_error', message: expect.stringMatching(message) });
    expect(response.usage).toMatchObject({ output_tokens: 2 }); // an estimate: five characters
  });
});

describe.each(wires)('%s, a stream that comes in gusts', (wire) => {
  it('is not cut while the pauses stay below the limit', async () => {
    const frames = streamText(wire);
    lab.upstream.always(drip(stream(wire, openFrames(wire, []), { done: false }), 1, 0));
    lab.upstream.always(drip(answer({ wire, mode: 'streamed' }), Math.ceil(frames.length / 8), 40));
    expectText(await lab.ask({ wire, mode: 'streamed' }, { model: `${wire}/hasty` }), 'Hello there.');
  });
});

/** All but the last bytes of an answer, with an end in order. */
function resetless({ answer: whole, bytes }: { answer: Answer; bytes: number }): Answer {
  const { pieces } = resetAfter(Math.min(bytes, 60), whole);
  return { ...whole, pieces };
}

async function* dripping(wire: WireName): AsyncGenerator<object> {
  yield* openFrames(wire, ['Hel', 'lo']);
  const more = openFrames(wire, ['.']).at(-1)!;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    yield more;
  }
}
