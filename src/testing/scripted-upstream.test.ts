import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  type ScriptedResponse,
  bytes,
  chunkedWithoutEnd,
  contentLengthTooLong,
  splitIntoPieces,
  throttle,
  emptyBody,
  gzip,
  htmlPage,
  hugeBody,
  json,
  recording,
  redirect,
  resetAfter,
  resetBeforeHeaders,
  sse,
  stallAfter,
  stallBeforeHeaders,
  wrongContentType,
} from './scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from './scripted-upstream.ts';

let upstream: ScriptedUpstream;
let dispatcher: Agent;
beforeEach(async () => {
  upstream = await startUpstream();
  dispatcher = new Agent();
});
afterEach(async () => {
  await dispatcher.destroy();
  await upstream.close();
});

const post = (body: unknown = {}, signal?: AbortSignal) =>
  request(`${upstream.url}/responses?beta=true`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer test' },
    body: JSON.stringify(body),
    dispatcher,
    signal,
  });
const answered = (answer: ScriptedResponse) => {
  upstream.respond(answer);
  return post();
};
/** The body as far as it arrived, and whether it was complete. */
async function received(answer: ScriptedResponse): Promise<{ text: string; whole: boolean; pieces: number }> {
  const { body } = await answered(answer);
  const pieces: Buffer[] = [];
  let whole = true;
  try {
    for await (const piece of body) pieces.push(piece);
  } catch {
    whole = false;
  }
  return { text: Buffer.concat(pieces).toString(), whole, pieces: pieces.length };
}

it('remembers requests, with parsed bodies', async () => {
  upstream.always(json({ ok: true }, { status: 201, headers: { 'x-request-id': 'one' } }));

  const answer = await post({ model: 'm' });

  expect(answer.statusCode).toBe(201);
  expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'x-request-id': 'one' });
  expect(await answer.body.json()).toEqual({ ok: true });
  expect(upstream.requests).toMatchObject([
    { method: 'POST', path: '/v1/responses?beta=true', body: { model: 'm' }, text: '{"model":"m"}', aborted: false },
  ]);
  expect(upstream.requests[0]!.headers.authorization).toBe('Bearer test');
  expect(await upstream.requests[0]!.closed).toBe('answered');
});

it('responds from the queue first, then with always, and reports an unscripted request', async () => {
  expect((await post()).statusCode).toBe(501);
  upstream.always((asked) => json({ echoed: asked.body }));
  upstream.respond(json(1));
  upstream.respond(json(2));

  const bodies = [];
  for (let i = 0; i < 3; i++) bodies.push(await (await post({ i })).body.json());

  expect(bodies).toEqual([1, 2, { echoed: { i: 2 } }]);
});

it('reports in the response that a script threw', async () => {
  upstream.respond(() => {
    throw new Error('wrong test');
  });
  const answer = await post();
  expect(answer.statusCode).toBe(500);
  expect(await answer.body.text()).toContain('wrong test');
});

it('gives each request to one nextRequest, whether it came before or after the call', async () => {
  upstream.always(json({}));
  await post('a');
  const [first, second] = [upstream.nextRequest(), upstream.nextRequest()];
  await post('b');
  expect((await first).body).toBe('a');
  expect((await second).body).toBe('b');
});

it('counts connections, so that keep-alive is visible', async () => {
  await dispatcher.close();
  dispatcher = new Agent({ connections: 1 }); // on its own it may open a second one while the first is closing
  upstream.always(json({}));
  for (let i = 0; i < 3; i++) await (await post()).body.text();
  expect(upstream.connectionCount).toBe(1);
});

it('notices that a client disconnects', async () => {
  upstream.always(stallBeforeHeaders());
  const client = new AbortController();
  const answer = post({}, client.signal);
  const asked = await upstream.nextRequest();
  client.abort();
  await expect(answer).rejects.toThrow('abort');
  expect(await asked.closed).toBe('aborted');
  expect(asked.aborted).toBe(true);
});

it('streams frames, named and with an end', async () => {
  const frames = [{ type: 'start', n: 1 }, 'not json'];
  expect(await received(sse(frames, { named: true, done: true }))).toMatchObject({
    text: 'event: start\ndata: {"type":"start","n":1}\n\ndata: not json\n\ndata: [DONE]\n\n',
    whole: true,
  });
  expect((await received(sse(': hi\r\n\r\n'))).text).toBe(': hi\r\n\r\n');
});

it('sends frames of an async iterable when they come', async () => {
  const gate = Promise.withResolvers<void>();
  async function* frames() {
    yield 'first';
    await gate.promise;
    yield 'second';
  }
  const { body } = await answered(sse(frames()));
  const pieces = body[Symbol.asyncIterator]();
  expect(String((await pieces.next()).value)).toBe('data: first\n\n');
  gate.resolve();
  expect(String((await pieces.next()).value)).toBe('data: second\n\n');
});

it('serves a recording with its envelope', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'recording-'));
  const url = pathToFileURL(join(folder, 'text.http'));
  writeFileSync(url, 'HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\n{"a":1}\n\n{}');
  const answer = await answered(recording(url));
  rmSync(folder, { recursive: true });
  expect(answer.statusCode).toBe(429);
  expect(answer.headers['retry-after']).toBe('7');
  expect(await answer.body.text()).toBe('{"a":1}\n\n{}');
});

it('goes down and comes up again on the same port', async () => {
  upstream.always(json({}));
  const { url } = upstream;
  await (await post()).body.dump();
  await upstream.down();
  await upstream.down();
  await expect(post()).rejects.toThrow('ECONNREFUSED');
  await upstream.up();
  expect(upstream.url).toBe(url);
  expect((await post()).statusCode).toBe(200);
});

it('ends open exchanges itself when it goes down', async () => {
  upstream.always(stallAfter(5, sse(['hello'])));
  const { body } = await post();
  const asked = await upstream.nextRequest();
  await upstream.down();
  expect(await asked.closed).toBe('answered');
  await expect(body.text()).rejects.toThrow();
});

it('resets the connection before the headers', async () => {
  await expect(answered(resetBeforeHeaders())).rejects.toMatchObject({ code: 'ECONNRESET' });
});

it('resets the connection after some bytes', async () => {
  const cut = await received(resetAfter(4, bytes('0123456789')));
  expect(cut).toMatchObject({ text: '0123', whole: false });
});

it('is silent after some bytes until the client disconnects', async () => {
  const client = new AbortController();
  upstream.respond(stallAfter(4, bytes('0123456789')));
  const { body } = await post({}, client.signal);
  const pieces = body[Symbol.asyncIterator]();
  expect(String((await pieces.next()).value)).toBe('0123');
  const silence = pieces.next();
  client.abort();
  await expect(silence).rejects.toThrow('abort');
  expect(await upstream.requests[0]!.closed).toBe('aborted');
});

it.each([
  ['drips', (answer: ScriptedResponse) => throttle(answer, 3, 5)],
  ['splits into pieces', (answer: ScriptedResponse) => splitIntoPieces(answer, 3)],
])('%s, and all of it arrives', async (_, wrap) => {
  const { text, whole, pieces } = await received(wrap(json({ text: 'Zürich' })));
  expect(text).toBe('{"text":"Zürich"}');
  expect(whole).toBe(true);
  expect(pieces).toBeGreaterThan(1);
});

it('stops writing when the client disconnects', async () => {
  const client = new AbortController();
  upstream.respond(throttle(bytes('0123'), 1, 3_600_000));
  const { body } = await post({}, client.signal);
  body.on('error', () => {});
  client.abort();
  expect(await upstream.requests[0]!.closed).toBe('aborted');
});

it('compresses, including a stream in progress', async () => {
  const { headers, body } = await answered(gzip(json({ a: 1 })));
  expect(headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(Buffer.from(await body.arrayBuffer())).toString()).toBe('{"a":1}');
});

it('ends without the terminating chunk, with the connection closed in order', async () => {
  expect(await received(chunkedWithoutEnd(sse(['a'])))).toMatchObject({ text: 'data: a\n\n', whole: false });
});

it('declares more bytes than it sends', async () => {
  expect(await received(contentLengthTooLong(json({ a: 1 })))).toMatchObject({ text: '{"a":1}', whole: false });
  expect(() => contentLengthTooLong(sse(['a']))).toThrow('known length');
});

it.each([
  ['an error page', htmlPage(503), 503, 'text/html; charset=utf-8', /<h1>503/],
  ['an empty body', emptyBody(200), 200, 'application/json', /^$/],
  ['a wrong content-type', wrongContentType(json({}), 'text/plain'), 200, 'text/plain', /^\{\}$/],
])('sends %s', async (_, answer, status, type, body) => {
  const { statusCode, headers, body: text } = await answered(answer);
  expect(statusCode).toBe(status);
  expect(headers['content-type']).toBe(type);
  expect(await text.text()).toMatch(body);
});

it('redirects', async () => {
  const { statusCode, headers } = await answered(redirect('http://127.0.0.1:9/', 307));
  expect([statusCode, headers.location]).toEqual([307, 'http://127.0.0.1:9/']);
});

it('creates a huge body of exactly the requested size', async () => {
  const { text } = await received(hugeBody(1_000_000));
  expect(text.length).toBe(1_000_000);
  expect(JSON.parse(text)).toMatchObject({ object: 'response' });
});

it('holds a huge body back while the client does not read', async () => {
  upstream.respond(hugeBody(1_000_000_000_000)); // would not fit into memory
  const asked = httpRequest(`${upstream.url}/responses`).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.on('error', () => {});
  const [piece] = (await once(answer, 'data')) as [Buffer];
  answer.pause();
  expect(piece.toString()).toContain('{"object":"response"');
  answer.destroy();
  expect(await upstream.requests[0]!.closed).toBe('aborted');
});
