import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ScriptedResponse,
  chunkedWithoutEnd,
  contentLengthTooLong,
  json,
  resetAfter,
  resetBeforeHeaders,
} from '../../src/testing/scripted-responses.ts';
import {
  answer,
  cases,
  chatChunk,
  type Lab,
  type Mode,
  openFrames,
  openLab,
  stream,
  type WireName,
  wholeBody,
} from './lab.ts';
import { expectBroken, expectFailure, expectText } from './outcome.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
});
afterAll(() => lab.close());

/** The beginning of a stream, with its text, and then an event. */
const words = (wire: WireName): ScriptedResponse => stream(wire, openFrames(wire, ['Hel', 'lo']), { done: false });

describe.each(cases)('$wire, $mode', (how) => {
  const { wire } = how;

  it('returns 502 when the connection is rejected', async () => {
    await lab.upstream.down();
    const outcome = await lab.ask(how);
    await lab.upstream.up();
    expectFailure(outcome, 502, 'provider_unavailable', /cannot be reached \(ECONNREFUSED\)/);
  });

  it('returns 502 when the connection is reset before the headers', async () => {
    lab.upstream.always(resetBeforeHeaders());
    expectFailure(await lab.ask(how), 502, 'provider_unavailable', /closed the connection/);
  });

  it.each<[string, (whole: ScriptedResponse) => ScriptedResponse]>([
    ['is reset in its middle', (whole) => resetAfter(60, whole)],
    ['is closed in its middle', (whole) => ({ ...resetAfter(60, whole), end: 'close' })],
    ['is chunked and has no end', (whole) => chunkedWithoutEnd(whole)],
    ['is shorter than its content-length', (whole) => contentLengthTooLong(whole)],
  ])('returns 502 when a whole body %s', async (_name, spoil) => {
    lab.upstream.always(spoil(json(wholeBody(wire))));
    expectFailure(await lab.ask(how), 502, 'provider_unavailable', /closed the connection/);
  });

  it('serves the next request after a failure', async () => {
    lab.upstream.always(resetAfter(60, json(wholeBody(wire))));
    await lab.ask(how);
    lab.upstream.always(answer(how));
    expectText(await lab.ask(how), 'Hello there.');
  });

  it('records a failed request without cost', async () => {
    lab.upstream.always(resetBeforeHeaders());
    const { headers } = await lab.ask(how);
    const generation = await lab.gateway.get(`/generation?id=${headers.get('x-generation-id')}`);
    expect(await generation.json()).toMatchObject({
      data: { status: 502, error_type: 'provider_unavailable', total_cost: 0, tokens_completion: 0 },
    });
  });
});

describe.each(cases)('$wire, $mode, a stream that is interrupted after its first words', (how) => {
  const { wire, mode } = how;
  const breaks: [string, ScriptedResponse, number, string, RegExp][] = [
    ['is reset', { ...words(wire), end: 'reset' }, 502, 'provider_unavailable', /closed the connection/],
    ['is closed without its end', { ...words(wire), end: 'close' }, 502, 'provider_unavailable', /closed the conn/],
    ['ends without its last frame', words(wire), 502, 'provider_unavailable', /ended its response in the middle/],
  ];

  it.each(breaks)('never looks complete if it %s', async (_name, broken, status, errorType, message) => {
    lab.upstream.always(broken);
    const outcome = await lab.ask(how);
    if (mode === 'buffered') return void expectFailure(outcome, status, errorType, message);
    const response = expectBroken(outcome, errorType, 'Hello');
    expect(response.error).toEqual({ code: 'server_error', message: expect.stringMatching(message) });
    expect(response.usage).toMatchObject({ output_tokens: 2 }); // an estimate: five characters
  });
});

describe.each<Mode>(['buffered', 'streamed'])('a provider that has said why it stopped, %s', (mode) => {
  const gemini = (text: string, finishReason?: string) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason, index: 0 }],
  });
  const said: [WireName, object[]][] = [
    ['openai-chat', [...openFrames('openai-chat', ['Hel', 'lo']), chatChunk({}, 'stop')]],
    ['gemini', [gemini('Hel'), gemini('lo', 'STOP')]],
  ];
  const ends = ['reset', 'close', 'silence'] as const;

  it.each(
    said.flatMap(([wire, frames]) => ends.map((end) => [wire, end, frames] as const)),
  )('has succeeded, whatever happens to its connection: %s, %s', async (wire, end, frames) => {
    lab.upstream.respond({ ...stream(wire, frames, { done: false }), end });
    const outcome = await lab.ask({ wire, mode }, { model: `${wire}/hasty` });
    expectText(outcome, 'Hello');
    expect(outcome.response?.usage).toMatchObject({ output_tokens: 2 }); // an estimate: five characters
  });

  it.each([
    ['an error', '{"error":{"message":"Out of memory.","type":"server_error"}}'],
    ['nonsense', 'nonsense'],
  ])('has failed if %s follows', async (_what, frame) => {
    const frames = [...openFrames('openai-chat', ['Hel', 'lo']), chatChunk({}, 'stop'), frame];
    lab.upstream.respond({ ...stream('openai-chat', frames, { done: false }), end: 'reset' });
    const outcome = await lab.ask({ wire: 'openai-chat', mode });
    if (mode === 'buffered') expectFailure(outcome, 502, 'provider_unavailable', /./);
    else expectBroken(outcome, outcome.response?.error_type ?? '', 'Hello');
  });
});
