import { afterEach, beforeEach, expect, it } from 'vitest';
import { readRecording } from './replay.ts';
import { type ScriptedUpstream, startUpstream } from './scripted-upstream.ts';
import { serveRecordings } from './serve-recordings.ts';

const folder = new URL('../providers/openai-chat/recordings', import.meta.url);
const bodyOf = (file: string) => readRecording(new URL(`${folder}/${file}`)).body.toString();

let upstream: ScriptedUpstream;
beforeEach(async () => {
  upstream = await startUpstream();
  upstream.always(serveRecordings(folder, { sizes: [1, 250] }));
});
afterEach(() => upstream.close());

const post = (path: string, body: object) =>
  fetch(`${upstream.url}${path}`, { method: 'POST', body: JSON.stringify(body) });

it.each([
  ['/chat/completions', { model: 'text', stream: true }, 'text.stream.http'],
  ['/chat/completions', { model: 'text' }, 'text.whole.http'],
  ['/chat/completions', { model: 'text.whole', stream: true }, 'text.whole.http'],
  ['/chat/completions', { model: 'broken-off' }, 'broken-off.stream.http'],
  ['/models/text:generateContent', {}, 'text.whole.http'],
  ['/models/text:streamGenerateContent?alt=sse', {}, 'text.stream.http'],
])('responds to POST %s with %j by %s', async (path, body, file) => {
  const answer = await post(path, body);
  expect(answer.status).toBe(200);
  expect(await answer.text()).toBe(bodyOf(file));
});

it('sends status and headers as recorded', async () => {
  const answer = await post('/chat/completions', { model: 'rate-limited' });
  const { status, headers } = readRecording(new URL(`${folder}/rate-limited.http`));
  expect(answer.status).toBe(status);
  for (const name of ['content-type', 'retry-after']) expect(answer.headers.get(name)).toBe(headers[name]);
});

it.each(['gone', '../wire', 'toString'])('reports that no recording is called %s', async (model) => {
  const answer = await post('/chat/completions', { model });
  expect(answer.status).toBe(404);
  expect(await answer.json()).toEqual({ error: { message: `No recording is called ${model}.` } });
});

it('writes pieces of the given sizes in turn, at the given pace', async () => {
  const serve = serveRecordings(folder, { sizes: [1, 250], everyMs: 5 });
  upstream.respond(serve);
  await (await post('/chat/completions', { model: 'text' })).text();
  const answer = serve(upstream.requests[0]!);
  const lengths: number[] = [];
  for await (const piece of answer.pieces()) lengths.push(piece.length);
  expect(lengths.slice(0, 4)).toEqual([1, 250, 1, 250]);
  expect(lengths.reduce((sum, length) => sum + length)).toBe(Buffer.byteLength(bodyOf('text.whole.http')));
  expect(answer.pauseMs).toBe(5);
  expect(() => serveRecordings(folder, { sizes: [1, 0] })(upstream.requests[0]!)).toThrow('1 byte or more');
});
