import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { paint } from './images-lab.ts';
import { caseOf, type ImageLab, imageCases, openImageLab, imagesOf } from './images-wires.ts';
import { newSession, rowsOf } from './ledger-rows.ts';
import { type ReceivedSpan, startReceiver } from './otlp-receiver.ts';

/*
 * What operators and providers see of a generation: spans, metrics, the ledger, and a hash of the end user.
 */

let lab: ImageLab;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let made: Buffer;
beforeAll(async () => {
  receiver = await startReceiver();
  lab = await openImageLab({ telemetry: { otlp_endpoint: receiver.url } });
  made = await paint({ width: 64, height: 64 });
});
afterAll(async () => {
  await lab.close();
  await receiver.upstream.close();
});

const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(`${lab.gateway.url}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
};
const spansOf = async (session: string): Promise<ReceivedSpan[]> => {
  const find = () => receiver.spans().find(({ attributes }) => attributes['session.id'] === session);
  await expect.poll(find).toBeDefined();
  const { traceId } = find()!;
  await expect.poll(() => receiver.spans().filter((span) => span.traceId === traceId).length).toBeGreaterThan(1);
  return receiver.spans().filter((span) => span.traceId === traceId);
};

describe.each(imageCases)('a generation of $wire, $mode', ({ wire, mode }) => {
  const how = { wire, mode };
  const { makes, streams } = caseOf(wire);

  it('is a span with one below it for the attempt, and no prompt, user or image in them', async () => {
    lab.upstream.always(makes([made]));
    const session_id = newSession();
    const prompt = 'What is in the prompt stays there';
    const trace = { trace_name: 'Poster', generation_name: 'Draw', team: 'blue' };
    const { headers } = await lab.ask(how, { prompt, session_id, trace, user: 'ada@example.com' });
    const spans = await spansOf(session_id);
    expect(spans.find(({ kind }) => kind === 2)?.attributes).toMatchObject({
      'http.route': '/api/v1/images',
      'http.response.status_code': 200,
      'headgate.generation_id': headers.get('x-generation-id'),
      'headgate.outcome': 'completed',
      'trace.name': 'Poster',
      'trace.metadata.team': 'blue',
    });
    expect(spans.find(({ kind }) => kind === 3)).toMatchObject({
      name: 'Draw',
      attributes: { 'headgate.provider': `The ${wire}`, 'headgate.cost_usd': 0.1 },
    });
    const sent = receiver.upstream.requests.map(({ text }) => text).join();
    for (const hidden of [prompt, 'ada@example.com', made.toString('base64').slice(0, 60)]) {
      expect(sent).not.toContain(hidden);
    }
  });

  it('is counted with its cost', async () => {
    lab.upstream.always(makes([made]));
    const labels = `model="${wire}/one",provider="${wire}"`;
    const names = [
      `headgate_responses_total{${labels},status="2xx",streamed="${mode === 'streamed'}"}`,
      `headgate_attempts_total{${labels},outcome="ok"}`,
    ];
    const readAll = () => Promise.all([...names, `headgate_cost_usd_total{${labels}}`].map(metric));
    const before = await readAll();
    await lab.ask(how);
    const after = await readAll();
    expect(after.map((value, at) => Math.round((value - before[at]!) * 1000) / 1000)).toEqual([1, 1, 0.1]);
  });

  it('is grouped by the session of the body, else by that of the header', async () => {
    lab.upstream.always(makes([made]));
    const [ofHeader, ofBody] = [newSession(), newSession()];
    const ask = (body: object) =>
      lab.gateway.post(
        '/images',
        { model: `${wire}/one`, prompt: 'x', stream: mode === 'streamed', ...body },
        { headers: { 'x-session-id': ofHeader } },
      );
    for (const body of [{}, { session_id: ofBody }]) await (await ask(body)).text();
    expect(await rowsOf(lab.gateway.dataDir, ofHeader)).toHaveLength(1);
    expect(await rowsOf(lab.gateway.dataDir, ofBody)).toHaveLength(1);
  });

  it('records the end user in the ledger as a stable hash, and does not send it to the provider', async () => {
    lab.upstream.always(makes([made]));
    const [first, again, other] = [newSession(), newSession(), newSession()];
    await lab.ask(how, { session_id: first, user: 'ada' });
    await lab.ask(how, { session_id: again, user: 'ada' });
    await lab.ask(how, { session_id: other, user: 'bob' });
    const hashOf = async (session: string) => (await rowsOf(lab.gateway.dataDir, session))[0]!['end_user'] as string;
    const hash = await hashOf(first);
    expect(hash).toMatch(/^\w{16,}$/);
    expect(await hashOf(again)).toBe(hash);
    expect(await hashOf(other)).not.toBe(hash);
  });

  it.runIf(streams && mode === 'streamed')('costs nothing if it fails after a partial image', async () => {
    const b64_json = made.toString('base64');
    const part = { thought: true, inlineData: { mimeType: 'image/png', data: b64_json } };
    const partial =
      wire === 'gemini'
        ? { candidates: [{ content: { parts: [part], role: 'model' } }] }
        : { type: 'image_generation.partial_image', partial_image_index: 0, b64_json };
    lab.upstream.always(sse([partial]));
    const session_id = newSession();
    const outcome = await lab.ask(how, { session_id });
    expect(outcome.events.map(({ type }) => type)).toEqual(['image_generation.partial_image', 'error']);
    expect(outcome.done).toBe(true);
    expect(imagesOf(outcome)).toEqual([]);
    expect(await rowsOf(lab.gateway.dataDir, session_id)).toMatchObject([
      { outcome: 'failed', cost_nano_usd: 0, input_tokens: 0, output_tokens: 0 },
    ]);
  });

  it.each([
    [{ sort: 'price' }],
    [{ sort: { by: 'price', partition: 'model' } }],
    [{ sort: { by: 'price', partition: null } }],
    [{ sort: { by: 'throughput', partition: 'none' }, order: ['last'] }],
    [{ only: ['last'] }],
    [{ ignore: [wire.toUpperCase()] }],
  ])('follows %j', async (provider) => {
    lab.upstream.always(json({ error: { message: 'not this one' } }, { status: 500 }));
    lab.other.always(caseOf('openai-images').makes([made]));
    const before = lab.upstream.requests.length;
    const outcome = await lab.ask(how, { model: `${wire}/two`, provider });
    expect(imagesOf(outcome)).toHaveLength(1);
    expect(lab.upstream.requests).toHaveLength(before);
  });
});
