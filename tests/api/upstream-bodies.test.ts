import { Readable } from 'node:stream';
import { brotliCompressSync, constants, createBrotliCompress, deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ScriptedResponse,
  bytes,
  splitIntoPieces,
  emptyBody,
  gzip,
  htmlPage,
  hugeBody,
  json,
  sse,
} from '../../src/testing/scripted-responses.ts';
import { type Case, cases, type Lab, openFrames, openLab, streamFrames, streamText, wholeBody } from './lab.ts';
import { expectBroken, expectFailure, expectText } from './outcome.ts';

const limit = 1024 * 1024;
const said = 'Grüße, 世界 👋🏽!';

let lab: Lab;
beforeAll(async () => {
  lab = await openLab({ server: { upstream_body_limit: limit } });
});
afterAll(() => lab.close());

/** The body of a valid response, buffered or streamed by the request. */
const good = ({ wire, mode }: Case): string =>
  mode === 'buffered'
    ? JSON.stringify(wholeBody(wire, said))
    : streamText(wire, streamFrames(wire, ['Grüße, ', '世界 👋🏽!']));
const typeOf = ({ mode }: Case): string => (mode === 'buffered' ? 'application/json' : 'text/event-stream');
const send = (how: Case, body: string | Buffer, type = typeOf(how)): ScriptedResponse =>
  bytes(body, { headers: { 'content-type': type } });
const other = ({ wire, mode }: Case): Case => ({ wire, mode: mode === 'buffered' ? 'streamed' : 'buffered' });

describe.each(cases)('$wire, $mode, a body in an unusual form', (how) => {
  const { wire, mode } = how;

  it.each([
    'text/plain',
    'text/html; charset=utf-8',
    'application/octet-stream',
    'application/json',
    'text/event-stream',
    'APPLICATION/JSON',
    'application/x-ndjson',
    '',
  ])('is read by its content if its content type is "%s"', async (type) => {
    lab.upstream.always(send(how, good(how), type));
    expectText(await lab.ask(how), said);
  });

  it.each([
    'text/plain',
    'text/event-stream',
    'application/json',
  ])('is read if it is the other kind, as %s', async (type) => {
    lab.upstream.always(send(other(how), good(other(how)), type));
    expectText(await lab.ask(how), said);
  });

  it.each([1, 2, 3, 7, 64])('is read if the network splits it every %i bytes, also inside characters', async (size) => {
    lab.upstream.always(splitIntoPieces(send(how, good(how), 'text/plain'), size));
    expectText(await lab.ask(how), said);
  });

  it.each([101, 200_000])('fails if its JSON has %i levels', async (levels) => {
    const deep = '['.repeat(levels) + ']'.repeat(levels);
    const odd = `{"odd":${deep},`;
    const body = good(how).replace('{', odd);
    lab.upstream.always(send(how, body));
    expectFailure(await lab.ask(how), 502, 'provider_unavailable', /nested deeper than 100 levels/);
  });

  it.each([
    ['values', `[${'{},'.repeat(330_000)}{}]`, undefined],
    ['short texts', `[${'"",'.repeat(300_000)}""]`, /more than 300000 short texts/],
    [
      'different fields',
      JSON.stringify(Object.fromEntries(Array.from({ length: 20_001 }, (_, at) => [`f${at}`, 0]))),
      /more than 20000 different object fields/,
    ],
  ])('fails if its JSON has too many %s, and the next endpoint responds', async (_, odd, message) => {
    const body = good(how).replace('{', `{"odd":${odd},`);
    lab.upstream.always(send(how, body));
    const outcome = await lab.ask(how);
    if (message) expectFailure(outcome, 502, 'provider_unavailable', message);
    else expectText(outcome, said); // within the limit

    if (!message) return;
    lab.upstream.respond(send(how, body));
    lab.upstream.always(send(how, good(how)));
    expectText(await lab.ask(how, { body: { models: [`${wire}/patient`, `${wire}/brief`] } }), said);
  });

  it('is read after a byte order mark and white space', async () => {
    lab.upstream.always(splitIntoPieces(send(how, `\ufeff\r\n\n${good(how)}`, 'text/plain'), 1));
    if (mode === 'buffered') expectText(await lab.ask(how), said);
    lab.upstream.always(send(how, `\ufeff${good(how)}`));
    expectText(await lab.ask(how), said);
  });

  it.each([
    ['gzip', () => gzip(send(how, good(how)))],
    ['brotli', () => encoded('br', send(how, brotliCompressSync(good(how))))],
    ['deflate', () => encoded('deflate', send(how, deflateSync(good(how))))],
    ['gzip, cut in pieces', () => splitIntoPieces(gzip(send(how, good(how))), 3)],
    ['brotli, frame by frame', () => brotli(sse(streamFrames(wire, ['Grüße, ', '世界 👋🏽!'])))],
    ['gzip, frame by frame', () => gzip(sse(streamFrames(wire, ['Grüße, ', '世界 👋🏽!'])))],
  ])('is read if it is compressed: %s', async (_name, make) => {
    lab.upstream.always(make());
    expectText(await lab.ask(how), said);
  });

  it('is a failure if its compression is unknown, damaged or truncated', async () => {
    for (const make of [
      () => encoded('compress', send(how, good(how))),
      () => encoded('gzip', send(how, good(how))),
      () => encoded('br', send(how, brotliCompressSync(good(how)).subarray(0, 40))),
    ]) {
      lab.upstream.always(make());
      expectFailure(await lab.ask(how), 502, 'provider_unavailable', /content-encoding/);
    }
  });
});

describe.each(cases)('$wire, $mode, a streamed body', (how) => {
  const { wire, mode } = how;
  const text = streamText(wire, streamFrames(wire, ['Grüße, ', '世界 👋🏽!']));
  const rewritten: [string, string][] = [
    ['CRLF line ends', text.replaceAll('\n', '\r\n')],
    ['bare CR line ends', text.replaceAll('\n', '\r')],
    ['mixed line ends', text.replace('\n\n', '\r\n\r').replace('\n\n', '\r\r\n')],
    ['no space behind the colon', text.replaceAll('data: ', 'data:')],
    ['comments between', text.replaceAll('\n\n', '\n\n: ping\n\n:\n\n')],
    ['ids and retries', text.replaceAll('data: {', 'id: 7\nretry: 10\nunknown: x\ndata: {')],
    ['data on several lines', text.replaceAll(/data: \{"(\w+)":/g, 'data: {\ndata: "$1":\ndata:')],
    ['empty frames', text.replaceAll('\n\n', '\n\n\n\nevent: ping\n\n')],
    ['no last line end', text.trimEnd()],
    ['event names', text.replaceAll(/data: \{"type":"([\w.]+)"/g, 'event: $1\ndata: {"type":"$1"')],
  ];

  it.each(rewritten)('is read with %s', async (_name, body) => {
    lab.upstream.always(sse(body));
    expectText(await lab.ask(how), said);
    lab.upstream.always(splitIntoPieces(sse(body), 5));
    expectText(await lab.ask(how), said);
  });

  const nonsense: [string, string, RegExp][] = [
    ['no JSON', 'data: {"type": oops}\n\n', /./],
    ['half a frame', 'data: {"type":"response.cre', /./],
    ['a list', 'data: [1,2]\n\n', /./],
    ['a number', 'data: 7\n\n', /./],
    ['null', 'data: null\n\n', /./],
    ['lines that are no fields', 'Hello there!\nHow are you?\n\n', /ended its response in the middle/],
    ['nothing but [DONE]', 'data: [DONE]\n\n', /ended its response in the middle/],
    ['nothing', '', /ended its response in the middle/],
    ['nothing but comments', ': hello\n\n: there\n\n', /ended its response in the middle/],
    ['zero bytes', '\0\0\0\0\n\n\0\n\n', /ended its response in the middle/],
  ];

  it.each(nonsense)('is a failure if it holds %s', async (_name, body, message) => {
    lab.upstream.always(sse(body));
    expectFailure(await lab.ask(how), 502, 'provider_unavailable', message);
  });

  it.each(
    // after a text, `[DONE]` is the end of a chat completion
    nonsense.filter(([name]) => wire !== 'openai-chat' || name !== 'nothing but [DONE]'),
  )('is a failure when %s follows the first words', async (_name, body) => {
    lab.upstream.always(sse(streamText('openai-responses', openFrames(wire, ['Hel', 'lo'])) + body));
    const outcome = await lab.ask(how);
    if (mode === 'buffered') expectFailure(outcome, 502, 'provider_unavailable');
    else expectBroken(outcome, 'provider_unavailable', 'Hello');
  });
});

describe.each([
  ...cases,
  ...(['buffered', 'streamed'] as const).map((mode) => ({ wire: 'gemini' as const, mode })),
])('$wire, $mode, a stream of JSON without names of fields', (how) => {
  const { wire } = how;
  const gemini = (text: string, finishReason?: string) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason, index: 0 }],
  });
  const frames =
    wire === 'gemini'
      ? [gemini('Grüße, '), gemini('世界 👋🏽!', 'STOP')]
      : streamFrames(wire, ['Grüße, ', '世界 👋🏽!']);
  const lines = frames.map((frame) => `${JSON.stringify(frame)}\n`);
  const textOfLines = lines.join('');

  it.each([
    ['as lines', textOfLines, 'application/x-ndjson'],
    ['as lines of JSON', textOfLines, 'application/json'],
    ['as lines named an event stream', textOfLines, 'text/event-stream'],
    ['with CRLF and empty lines', textOfLines.replaceAll('\n', '\r\n\r\n'), 'application/jsonl'],
    ['without the last line end', textOfLines.trimEnd(), 'application/x-ndjson'],
  ])('is read %s', async (_name, body, type) => {
    lab.upstream.always(send(how, body, type));
    expectText(await lab.ask(how), said);
    lab.upstream.always(splitIntoPieces(send(how, body, type), 3));
    expectText(await lab.ask(how), said);
  });

  it('never looks complete if its end is missing', async () => {
    lab.upstream.always(send(how, lines.slice(0, -2).join(''), 'application/x-ndjson'));
    const { response, status } = await lab.ask(how);
    expect(response?.status ?? status).toBe(how.mode === 'buffered' || lines.length < 4 ? 502 : 'failed');
  });
});

it('lines of JSON arrive while the provider writes them', async () => {
  const wire = 'openai-chat' as const;
  const { promise: isRead, resolve } = Promise.withResolvers<void>();
  const lines = streamFrames(wire, ['Hel', 'lo']).map((frame) => `${JSON.stringify(frame)}\n`);
  async function* pieces(): AsyncGenerator<Buffer> {
    yield Buffer.from(lines.slice(0, 2).join(''));
    await isRead;
    yield Buffer.from(lines.slice(2).join(''));
  }
  const headers = { 'content-type': 'application/x-ndjson' };
  lab.upstream.always({ ...bytes('', { headers }), contentLength: undefined, pieces });
  const response = await lab.gateway.post('/responses', { model: `${wire}/patient`, input: 'Hi', stream: true });
  let text = '';
  for await (const piece of response.body!) {
    text += Buffer.from(piece).toString();
    if (text.includes('"delta":"Hel"')) resolve();
  }
  expect(text).toContain('"text":"Hello"');
});

it.each(['buffered', 'streamed'] as const)('an object and [DONE] are a response, %s', async (mode) => {
  // decolua/9router#3492
  const how = { wire: 'openai-chat' as const, mode };
  const body = `${JSON.stringify(wholeBody(how.wire, said))}\n\ndata: [DONE]\n\n`;
  for (const type of ['text/event-stream', 'application/json']) {
    lab.upstream.always(send(how, body, type));
    expectText(await lab.ask(how), said);
  }
});

it.each(['buffered', 'streamed'] as const)('an error on several lines within a stream is read, %s', async (mode) => {
  // maximhq/bifrost#5262
  const error = { error: { code: 429, message: 'Quota exceeded.', status: 'RESOURCE_EXHAUSTED' } };
  for (const body of [error, [error]]) {
    lab.upstream.always(sse(`: hello\n\n${JSON.stringify(body, null, 2)}\n`));
    expectFailure(await lab.ask({ wire: 'gemini', mode }), 429, 'rate_limit_exceeded', /Quota exceeded/);
  }
});

it('an error of older llama.cpp, which is no field of an event stream, is read', async () => {
  const error = 'error: {"code":400,"message":"Too long.","type":"exceed_context_size_error"}\n\n';
  for (const mode of ['buffered', 'streamed'] as const) {
    lab.upstream.respond(sse(error));
    expectFailure(await lab.ask({ wire: 'openai-chat', mode }), 400, 'context_length_exceeded', /Too long/);
  }
});

describe.each(cases)('$wire, $mode, an invalid body', (how) => {
  const { wire, mode } = how;
  const bodies: [string, ScriptedResponse, RegExp][] = [
    ['empty', emptyBody(), /an empty body/],
    ['an HTML page', htmlPage(200), /an HTML page/],
    ['an HTML page named JSON', send({ wire, mode: 'buffered' }, '<html>'), /an HTML page/],
    ['broken JSON', send({ wire, mode: 'buffered' }, '{"output": ['), /not JSON/],
    ['half an answer', send({ wire, mode: 'buffered' }, JSON.stringify(wholeBody(wire)).slice(0, 90)), /not JSON/],
    ['plain text', bytes('Hello!', { headers: { 'content-type': 'text/plain' } }), /not JSON/],
    ['text like an error', bytes('error: no', { headers: { 'content-type': 'text/plain' } }), /in the middle/],
    ['of status 204', bytes('', { status: 204 }), /an empty body/],
    ['null', json(null), /./],
    ['a list', json([]), /./],
    ['a number', json(7), /./],
    ['an empty object', json({}), /./],
    ['an object of another kind', json({ object: 'list', data: [] }), /./],
  ];

  it.each(bodies)('is a failure: %s', async (_name, body, message) => {
    lab.upstream.always(body);
    const outcome = await lab.ask(how);
    expectFailure(outcome, 502, 'provider_unavailable', message);
    expect(outcome.text).not.toContain('<');
  });

  it('is not read past upstream_body_limit', async () => {
    lab.upstream.always(hugeBody(50 * 1024 * 1024));
    const before = process.memoryUsage().arrayBuffers;
    const outcome = await lab.ask(how);
    const grown = process.memoryUsage().arrayBuffers - before;
    expectFailure(outcome, 502, 'provider_unavailable', /more than 1048576 bytes \(upstream_body_limit\)/);
    expect(await lab.upstream.requests.at(-1)?.closed).toBe('aborted');
    expect(grown).toBeLessThan(10 * limit);
  });

  it('is not read past upstream_body_limit if it is one endless frame', async () => {
    lab.upstream.always(endless('data: {"type":"', 'x'.repeat(65_536)));
    expectFailure(await lab.ask(how), 502, 'provider_unavailable', /larger than 1048576|more than 1048576/);
    expect(await lab.upstream.requests.at(-1)?.closed).toBe('aborted');
  });

  it('is not decompressed past upstream_body_limit', async () => {
    lab.upstream.always(gzip(hugeBody(50 * 1024 * 1024)));
    expectFailure(await lab.ask(how), 502, 'provider_unavailable', /upstream_body_limit/);
  });

  if (mode === 'buffered') {
    it('is not kept past upstream_body_limit if it is an endless stream of small frames', async () => {
      const delta = openFrames(wire, ['word '.repeat(1000)]).at(-1)!;
      const start = streamText('openai-responses', openFrames(wire, []));
      lab.upstream.always(endless(start, `data: ${JSON.stringify(delta)}\n\n`));
      expectFailure(await lab.ask(how), 502, 'provider_unavailable', /more than 1048576 bytes \(upstream_body_limit\)/);
      expect(await lab.upstream.requests.at(-1)?.closed).toBe('aborted');
    });
  }
});

const encoded = (encoding: string, body: ScriptedResponse): ScriptedResponse => ({
  ...body,
  headers: { ...body.headers, 'content-encoding': encoding },
});

function brotli(body: ScriptedResponse): ScriptedResponse {
  const flush = constants.BROTLI_OPERATION_FLUSH;
  const pieces = () => Readable.from(body.pieces()).pipe(createBrotliCompress({ flush }));
  return { ...encoded('br', body), pieces };
}

/** An endless stream of the text. */
function endless(start: string, text: string): ScriptedResponse {
  async function* pieces(): AsyncGenerator<Buffer> {
    yield Buffer.from(start);
    const piece = Buffer.from(text);
    for (;;) yield piece;
  }
  return { ...sse(''), pieces };
}
