import { hash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { deriveKeyNumber } from '../../src/access/key-text.ts';
import { json, testGateway } from '../../src/testing/index.ts';
import { answer, cases, complaint, type Lab, openFrames, openLab, providerKey, stream } from './lab.ts';
import { expectIssues, type Json, main, manage } from './manage.ts';
import { openStream } from './open-stream.ts';

let lab: Lab;
const ask = manage(() => lab.gateway);
beforeAll(async () => {
  lab = await openLab({ io_logging: { max_bytes: '16KiB' } });
});
afterAll(() => lab.close());

const keep = async (settings: object = {}): Promise<void> => {
  const all = { is_observability_io_logging_enabled: true, io_logging_sampling_rate: 1, io_logging_api_key_ids: null };
  expect((await ask('PATCH', '/workspaces/main', { ...all, ...settings })).status).toBe(200);
};
const turnOff = () => keep({ is_observability_io_logging_enabled: false });
beforeEach(() => keep());

/** Returns the stored content of a generation; undefined if there is none. */
async function contentOf(id: string | null): Promise<Json> {
  const { status, body } = await ask('GET', `/generation/content?id=${id}`);
  if (status === 404) return undefined;
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
}
const idOf = ({ headers }: { headers: Headers }): string => headers.get('x-generation-id')!;
const said = (text: string, role = 'user') => ({ type: 'message', role, content: text });
const answered = (text: string) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });

describe.each(cases)('GET /generation/content, $wire, $mode', (how) => {
  it('returns the input and the output', async () => {
    lab.upstream.respond(answer(how, 'Good evening.'));
    const outcome = await lab.ask(how, {
      body: {
        instructions: 'Be polite.',
        input: 'Hello?',
        tools: [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } }],
      },
    });
    expect(await contentOf(idOf(outcome))).toEqual({
      id: idOf(outcome),
      workspace_id: main,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      input: { instructions: 'Be polite.', items: [said('Hello?')], tools: ['weather'] },
      output: [answered('Good evening.')],
      error: null,
      truncated: false,
    });
  });

  it('returns the error of a failed request, without the key of the provider', async () => {
    lab.upstream.always(json(complaint(`no such thing; your key is ${providerKey}`), { status: 400 }));
    const outcome = await lab.ask(how, { body: { input: `I found ${providerKey}, is it yours?` } });
    expect(outcome.status).toBe(400);
    const content = await contentOf(idOf(outcome));
    expect(content).toMatchObject({
      input: { items: [said('I found [secret], is it yours?')] },
      output: [],
      error: { code: 400, error_type: 'invalid_request', message: expect.stringContaining('no such thing') },
    });
    expect(JSON.stringify(content)).not.toContain(providerKey);
  });

  it('truncates long texts, and says so', async () => {
    lab.upstream.respond(answer(how, 'Größe 🗝️ '.repeat(5000)));
    const outcome = await lab.ask(how, { body: { input: 'long 東京 '.repeat(5000) } });
    const content = await contentOf(idOf(outcome));
    expect(content.truncated).toBe(true);
    expect(content.input.items[0].content).toMatch(/^(long 東京 )+.* … \[cut: 40000 characters in all\]$/);
    expect(content.output[0].content[0].text).toMatch(/^(Größe 🗝️ )+.* … \[cut: 50000 characters in all\]$/u);
    expect(Buffer.byteLength(JSON.stringify([content.input, content.output]))).toBeLessThan(16_384);
  });
});

describe('stored content', () => {
  it('is empty unless the workspace opts in', async () => {
    await turnOff();
    lab.upstream.respond(answer(cases[0]!));
    const outcome = await lab.ask(cases[0]!);
    expect(outcome.status).toBe(200);
    const { status, body } = await ask('GET', `/generation/content?id=${idOf(outcome)}`);
    expect(status).toBe(404);
    expect(body.error).toMatchObject({ code: 404, message: expect.stringContaining('There are no contents') });
  });

  it('has the output of a stream whose client disconnected, with the error', async () => {
    const words = 'four score and seven years ago';
    lab.upstream.respond({
      ...stream('openai-chat', openFrames('openai-chat', [words]), { done: false }),
      end: 'silence',
    });
    const open = await openStream(lab.gateway, { model: 'openai-chat/patient', input: 'Begin.' });
    await open.readUntil('years ago');
    open.leave();
    await expect
      .poll(async () => await contentOf(idOf(open.response)))
      .toMatchObject({
        input: { items: [said('Begin.')] },
        output: [answered(words)],
        error: { code: 499 },
      });
  });

  it('has the output of an interrupted stream', async () => {
    lab.upstream.respond({
      ...stream('openai-chat', openFrames('openai-chat', ['half an answer']), { done: false }),
      end: 'close',
    });
    const outcome = await lab.ask({ wire: 'openai-chat', mode: 'streamed' });
    expect(await contentOf(idOf(outcome))).toMatchObject({
      output: [answered('half an answer')],
      error: { code: 502, error_type: 'provider_unavailable' },
    });
  });

  it('has a rejected conversation, with the reason', async () => {
    const outcome = await lab.ask(cases[0]!, { model: 'openai-chat/unknown' });
    expect(outcome.status).toBe(400);
    expect(await contentOf(idOf(outcome))).toMatchObject({ output: [], error: { code: 400 } });
  });

  it('has the type, size and hash of an image, and no encrypted reasoning', async () => {
    const image = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
    lab.upstream.respond(answer({ wire: 'openai-responses', mode: 'buffered' }));
    const outcome = await lab.ask(
      { wire: 'openai-responses', mode: 'buffered' },
      {
        body: {
          input: [
            { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'SEALED-thoughts' },
            {
              role: 'user',
              content: [
                { type: 'input_text', text: 'What is this?' },
                { type: 'input_image', image_url: `data:image/gif;base64,${image.toString('base64')}` },
              ],
            },
          ],
        },
      },
    );
    expect(outcome.status).toBe(200);
    const { input } = await contentOf(idOf(outcome));
    expect(input.items).toEqual([
      { type: 'reasoning' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', media_type: 'image/gif', bytes: image.length, sha256: hash('sha256', image) },
        ],
      },
    ]);
  });

  it('has the parts that io_logging.keep lists, from the next reload on', async () => {
    const own = await testGateway();
    const askOwn = manage(() => own);
    try {
      await askOwn('PATCH', '/workspaces/main', { is_observability_io_logging_enabled: true });
      await own.reload({ io_logging: { keep: ['instructions'] } });
      const asked = await own.post('/responses', {
        model: 'simulator/echo',
        input: 'SECRET',
        instructions: 'Be brief.',
      });
      const { data } = (await askOwn('GET', `/generation/content?id=${idOf(asked)}`)).body;
      expect(data).toMatchObject({
        input: { instructions: 'Be brief.', items: [{ type: 'message', role: 'user', omitted_characters: 6 }] },
        output: [{ type: 'message', role: 'assistant', omitted_characters: expect.any(Number) }],
      });
      expect(JSON.stringify(data)).not.toContain('SECRET');
    } finally {
      await own.close();
    }
  });

  it('exists for the keys that the workspace lists, by their numbers', async () => {
    const key = (await ask('POST', '/keys', { name: 'logged', workspace_id: main })).body;
    expect(key.data.id).toBe(deriveKeyNumber(key.data.hash));
    await keep({ io_logging_api_key_ids: [key.data.id] });
    lab.upstream.always(answer(cases[0]!));
    const logged = await lab.ask(cases[0]!, { key: key.key });
    const other = await lab.ask(cases[0]!);
    expect(await contentOf(idOf(logged))).toBeDefined();
    expect(await contentOf(idOf(other))).toBeUndefined();
  });

  it('exists for a key that replaces a listed one', async () => {
    const { data } = (await ask('POST', '/keys', { name: 'rotated', workspace_id: main })).body;
    await keep({ io_logging_api_key_ids: [data.id] });
    const rotated = (await ask('POST', `/keys/${data.hash}/rotate`, { grace_seconds: 60 })).body;
    const { body } = await ask('GET', '/workspaces/main');
    expect(body.data.io_logging_api_key_ids).toEqual([data.id, rotated.data.id]);
    lab.upstream.respond(answer(cases[0]!));
    expect(await contentOf(idOf(await lab.ask(cases[0]!, { key: rotated.key })))).toBeDefined();
    expect((await ask('GET', '/audit?limit=9')).body.data).toContainEqual(
      expect.objectContaining({
        action: 'workspace.update',
        changes: { io_logging_api_key_ids: { before: [data.id], after: [data.id, rotated.data.id] } },
      }),
    );
  });

  it('exists for a share of sessions, each completely or not at all', async () => {
    await keep({ io_logging_sampling_rate: 0.5 });
    lab.upstream.always(answer(cases[0]!));
    const kept: boolean[] = [];
    for (let session = 0; session < 12; session++) {
      const turns = [1, 2].map(() => lab.ask(cases[0]!, { body: { session_id: `session ${session}` } }));
      const [first, second] = (await Promise.all(turns)).map(
        async (turn) => (await contentOf(idOf(turn))) !== undefined,
      );
      expect(await first).toBe(await second);
      kept.push((await first) ?? false);
    }
    expect(new Set(kept)).toEqual(new Set([true, false])); // by the hashes of these names
  });

  it('is in the store after a restart', async () => {
    const before = await testGateway();
    await manage(() => before)('PATCH', '/workspaces/main', { is_observability_io_logging_enabled: true });
    const id = idOf(await before.post('/responses', { model: 'simulator/echo', input: 'remember me' }));
    await before.close({ keepData: true });
    const after = await testGateway({}, before.dataDir);
    const { body } = await manage(() => after)('GET', `/generation/content?id=${id}`);
    expect(body.data.input.items).toEqual([said('remember me')]);
    await after.close();
  });
});

describe('while the store is unreachable', () => {
  it('requests continue, excess contents are dropped and counted, and the rest is stored when it is back', async () => {
    const own = await testGateway({ io_logging: { max_bytes: '64KiB', max_pending_bytes: '64KiB' } });
    await manage(() => own)('PATCH', '/workspaces/main', { is_observability_io_logging_enabled: true });
    const { contents } = own.gateway.storage;
    const gone = vi.spyOn(contents, 'append').mockRejectedValue(new Error('gone'));
    const number = async (name: string) =>
      Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await (await fetch(`${own.url}/metrics`)).text())?.[1]);
    try {
      const ids: string[] = [];
      for (let count = 0; count < 12; count++) {
        const asked = await own.post('/responses', { model: 'simulator/echo', input: `${count} `.repeat(5000) });
        expect(asked.status).toBe(200);
        ids.push(idOf(asked));
      }
      expect(await number('headgate_contents_dropped_total')).toBeGreaterThan(5);
      expect(await number('headgate_contents_pending_bytes')).toBeLessThanOrEqual(65_536);
      expect(await number('headgate_contents_pending_bytes')).toBeGreaterThan(0);

      gone.mockRestore();
      await expect.poll(() => number('headgate_contents_pending_bytes')).toBe(0);
      expect(await contents.find(ids[0]!)).toMatchObject({ id: ids[0] });
      expect(await contents.find(ids.at(-1)!)).toBeUndefined();
    } finally {
      await own.close();
    }
  });
});

describe('the permission to read contents and send feedback', () => {
  it.each([
    ['GET', '/generation/content?id=gen-x', undefined],
    ['POST', '/generation/feedback', { generation_id: 'gen-x', category: 'other' }],
    ['GET', '/generation/feedback', undefined],
  ])('%s %s: management keys only', async (method, path, body) => {
    for (const key of [lab.gateway.key, lab.gateway.organizationKey]) {
      const answered = await ask(method, path, body, key);
      expect(answered.status).toBe(403);
      expect(answered.body.error.message).toBe('Only management keys can perform this operation.');
    }
    expect((await ask(method, path, body, null)).status).toBe(401);
  });

  it('GET /generation/content without an id is a 400', async () => {
    expect((await ask('GET', '/generation/content')).status).toBe(400);
  });
});

describe('POST /generation/feedback', () => {
  it('stores feedback on a generation, immediately after its response', async () => {
    await turnOff(); // needs no contents
    lab.upstream.respond(answer(cases[0]!));
    const generation_id = idOf(await lab.ask(cases[0]!));
    const sent = { generation_id, category: 'incorrect_response', comment: 'It is in Zürich.\nReally.' };
    const answered = await ask('POST', '/generation/feedback', sent);
    expect(answered).toMatchObject({ status: 200, body: { data: { success: true } } });
    const answeredAt = Date.now();
    await expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(answeredAt); // ids differ by milliseconds
    await ask('POST', '/generation/feedback', { generation_id, category: 'latency', comment: null });

    const { body } = await ask('GET', `/generation/feedback?generation_id=${generation_id}`);
    expect(body).toMatchObject({
      total_count: 2,
      data: [
        { generation_id, category: 'latency', comment: null, workspace_id: main },
        { ...sent, id: expect.stringMatching(/^fb_/), actor_key_hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
      ],
    });
  });

  it('is a 404 for an unknown generation', async () => {
    const answered = await ask('POST', '/generation/feedback', { generation_id: 'gen-nobody', category: 'other' });
    expect(answered.status).toBe(404);
    expect(answered.body.error.message).toContain('gen-nobody');
  });

  it.each([
    [{}, { generation_id: 'is missing', category: 'is missing' }],
    [
      { generation_id: '', category: 5, comment: 'x'.repeat(10_001) },
      { generation_id: 'must not be empty', category: 'must be a string', comment: 'has 10001 characters' },
    ],
    [{ generation_id: 'g', category: 'c', rating: 1 }, { rating: 'is not known here' }],
  ])('rejects %j', async (body, issues) => {
    expectIssues(await ask('POST', '/generation/feedback', body), issues);
  });
});
