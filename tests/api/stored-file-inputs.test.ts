import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDocx, createPdf } from '../../src/testing/sample-files.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { answer, ask, type Case, cases, provider, stream, streamFrames } from './lab.ts';
import { expectFailure, expectText } from './outcome.ts';

const otherKey = 'test-other-workspace-key-1';
const pdf = createPdf([['Northern fjords']]);
const png = Buffer.from('\x89PNG\r\n\x1a\nimage', 'latin1');

let upstream: ScriptedUpstream;
let gateway: TestGateway;
const ids: Record<string, string> = {};

beforeAll(async () => {
  upstream = await startUpstream();
  const model = (name: string, input?: string[]) =>
    (['openai-chat', 'openai-responses'] as const).map((wire) =>
      provider(wire, name, upstream, {
        models: [{ model: `${wire}/${name}`, upstream_model: name, ...(input && { capabilities: { input } }) }],
      }),
    );
  gateway = await testGateway({
    providers: [...model('text', ['text']), ...model('reading', ['text', 'image', 'file']), ...model('unknown')],
    files: { request_bytes: 20_000 },
    plugins: { file_parser: { max_files: 3 } },
    bootstrap: { keys: [{ key: otherKey, name: 'elsewhere', workspace: 'other', acts_as: 'organization' }] },
  });
  const files: Record<string, Buffer | string> = {
    'reports/fjords.pdf': pdf,
    'plan.docx': createDocx('<w:p><w:r><w:t>Buy bread</w:t></w:r></w:p>'),
    'map.png': png,
    'song.mp3': Buffer.from('ID3\x04\0', 'latin1'),
    'large.txt': 'x'.repeat(15_000),
  };
  for (const [name, content] of Object.entries(files)) ids[name] = await upload(name, content);
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

async function upload(filename: string, content: string | Buffer): Promise<string> {
  const form = new FormData();
  form.append('file', new File([content as string], filename), filename);
  const headers = { authorization: `Bearer ${testKeys.key}` };
  const response = await fetch(`${gateway.baseUrl}/files`, { method: 'POST', headers, body: form });
  expect(response.status).toBe(200);
  return ((await response.json()) as { id: string }).id;
}

const dataUrl = (type: string, bytes: Buffer) => `data:${type};base64,${bytes.toString('base64')}`;
const message = (...content: object[]) => [
  { role: 'user', content: [{ type: 'input_text', text: 'Read.' }, ...content] },
];
const file = (name: string, more: object = {}) => ({ type: 'input_file', file_id: ids[name], ...more });
const image = (name: string) => ({ type: 'input_image', file_id: ids[name], detail: 'high' });

describe.each(cases)('stored files in the input, $wire, $mode', (at: Case) => {
  async function send(model: string, input: object[], key: string = testKeys.key) {
    const before = upstream.requests.length;
    upstream.respond(() => answer(at));
    const outcome = await ask(gateway, at.mode, { model: `${at.wire}/${model}`, input }, { key });
    const [request] = upstream.requests.slice(before);
    if (!request) upstream.respond(() => answer(at));
    return { outcome, sent: request?.text };
  }

  it('are sent with their content and their name to models that read files', async () => {
    for (const model of ['reading', 'unknown']) {
      const { outcome, sent } = await send(model, message(file('reports/fjords.pdf'), image('map.png')));
      expectText(outcome, 'Hello there.');
      expect(sent).toContain(dataUrl('application/pdf', pdf));
      expect(sent).toContain('"filename":"fjords.pdf"');
      expect(sent).toContain(dataUrl('image/png', png));
      expect(sent).toContain('high');
      expect(sent).not.toContain('file_w');
    }
  });

  it('keep the name that the request gives', async () => {
    const { sent } = await send('reading', message(file('reports/fjords.pdf', { filename: 'mine.pdf' })));
    expect(sent).toContain('"filename":"mine.pdf"');
  });

  it('become text for models that read none', async () => {
    const { outcome, sent } = await send('text', message(file('reports/fjords.pdf'), file('plan.docx')));
    expectText(outcome, 'Hello there.');
    expect(sent).toContain('Northern fjords');
    expect(sent).toContain('Buy bread');
    expect(sent).toContain('<file name=\\"plan.docx\\">');
  });

  it('may be in the output of a tool', async () => {
    const { sent } = await send('text', [
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: [file('plan.docx')] },
    ]);
    expect(sent).toContain('Buy bread');
  });
});

describe('a request', () => {
  const post = async (content: object[], key: string = testKeys.key) =>
    ask(gateway, 'buffered', { model: 'openai-chat/reading', input: message(...content) }, { key });

  it.each<[string, () => object[], string]>([
    ['an unknown file', () => [{ type: 'input_file', file_id: 'file_wNone' }], 'there is no file "file_wNone"'],
    ['a text as an image', () => [image('large.txt')], 'large.txt is text/plain, not an image; send it as input_file'],
    ['an image as a file', () => [file('map.png')], 'map.png is image/png; send it as input_image'],
    ['a song as a file', () => [file('song.mp3')], 'models get audio as input_audio'],
    ['two sources', () => [file('plan.docx', { file_data: 'eA==' })], 'has another source, too'],
    ['too many files', () => Array(4).fill(file('plan.docx')), 'names 4 stored files; at most 3'],
  ])('with %s is a 400 that names the part', async (_, content, says) => {
    const before = upstream.requests.length;
    const outcome = await post(content());
    expectFailure(outcome, 400, 'invalid_request');
    expect(JSON.stringify(outcome)).toContain(says.replaceAll('"', '\\"'));
    expect(JSON.stringify(outcome)).toMatch(/input\[0\]\.content\[\d\]\.file_id/);
    expect(upstream.requests).toHaveLength(before);
  });

  it('with a file of another workspace is the same 400 as with an unknown one', async () => {
    const outcome = await post([file('plan.docx')], otherKey);
    expectFailure(outcome, 400, 'invalid_request');
    expect(JSON.stringify(outcome)).toContain('there is no file');
  });

  it('with more bytes than allowed is a 413', async () => {
    const outcome = await post([file('large.txt'), file('large.txt')]);
    expectFailure(outcome, 413, 'payload_too_large');
    expect(JSON.stringify(outcome)).toContain('30000 bytes together; at most 20000');
  });

  it('with the id of a provider is sent unchanged', async () => {
    upstream.respond(() => answer({ wire: 'openai-chat', mode: 'buffered' }));
    const outcome = await post([{ type: 'input_file', file_id: 'file-abc123' }]);
    expectText(outcome, 'Hello there.');
    expect(upstream.requests.at(-1)!.text).toContain('"file_id":"file-abc123"');
  });
});

it('counts the contents against the memory of bodies', async () => {
  const small = await testGateway({
    server: { body_memory: 65_536 },
    providers: [provider('openai-chat', 'reading', upstream)],
  });
  const content = 'x'.repeat(60_000);
  const form = new FormData();
  form.append('file', new File([content], 'a.txt'));
  const headers = { authorization: `Bearer ${testKeys.key}` };
  const stored = await fetch(`${small.baseUrl}/files`, { method: 'POST', headers, body: form });
  const { id } = (await stored.json()) as { id: string };
  const input = message({ type: 'input_file', file_id: id });
  const at: Case = { wire: 'openai-chat', mode: 'streamed' };
  const gate = Promise.withResolvers<void>();
  const send = () => small.post('/responses', { model: 'openai-chat/reading', input, stream: true });
  upstream.respond(() => stream('openai-chat', gated(gate.promise)));
  const slow = await send(); // alone, it may be larger than the memory
  expect(slow.status).toBe(200);
  const refused = await send();
  expect(refused.status).toBe(429);
  expect(JSON.stringify(await refused.json())).toContain('server.body_memory');
  gate.resolve();
  expect(await slow.text()).toContain('response.completed');
  upstream.respond(() => answer(at));
  await expect.poll(async () => (await send()).status).toBe(200); // when the connection has ended
  await small.close();
});

async function* gated(gate: Promise<void>): AsyncGenerator<object> {
  const [first, ...rest] = streamFrames('openai-chat');
  yield first!;
  yield* rest.slice(0, 1);
  await gate;
  yield* rest.slice(1);
}
