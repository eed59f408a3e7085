import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { throttle, json } from '../../src/testing/scripted-responses.ts';
import { readStream } from '../../src/testing/test-gateway.ts';
import { answer, complaint, type Lab, openFrames, openLab, provider, stream, streamFrames, wires } from './lab.ts';
import { gate, openStream } from './open-stream.ts';
import { expectBroken, expectFailure, expectText, type Outcome, readOutcome } from './outcome.ts';

const comment = ': ROUTER PROCESSING\n\n';
const frames = /^((data: .*|: ROUTER PROCESSING)\n\n)+$/;

let lab: Lab;
beforeAll(async () => {
  lab = await openLab({ server: { keep_alive_comment_ms: 25 } });
});
afterAll(() => lab.close());

/** Checks a stream that was read piece by piece. */
const judge = (response: Response, text: string): Promise<Outcome> =>
  readStream(new Response(text, { status: response.status, headers: response.headers })).then(readOutcome);

describe.each(wires)('%s', (wire) => {
  it('keeps a stream open before its first event', async () => {
    const held = gate();
    lab.upstream.always(async () => {
      await held.opened;
      return answer({ wire, mode: 'streamed' });
    });
    const open = await openStream(lab.gateway, { model: `${wire}/patient` });
    expect(open.response.headers.get('content-type')).toBe('text/event-stream');
    await open.readUntil(comment + comment);
    expect(open.text).not.toContain('data:');
    held.open();
    const text = await open.readAll();
    expect(text).toMatch(frames);
    expectText(await judge(open.response, text), 'Hello there.');
  });

  it('keeps a stream open between events', async () => {
    const held = gate();
    async function* slowly(): AsyncGenerator<object> {
      const all = streamFrames(wire);
      yield* all.slice(0, -3);
      await held.opened;
      yield* all.slice(-3);
    }
    lab.upstream.always(stream(wire, slowly()));
    const open = await openStream(lab.gateway, { model: `${wire}/patient` });
    await open.readUntil(/Hello.*: ROUTER PROCESSING\n\n: ROUTER PROCESSING\n\n/s);
    held.open();
    const text = await open.readAll();
    expect(text).toMatch(frames);
    expectText(await judge(open.response, text), 'Hello there.');
  });

  it('reports a failure in the stream after the status was sent', async () => {
    const held = gate();
    lab.upstream.always(async () => {
      await held.opened;
      return json(complaint('Gone.'), { status: 429 });
    });
    const headers = { 'x-router-metadata': 'enabled' };
    const open = await openStream(lab.gateway, { model: `${wire}/patient` }, { headers });
    await open.readUntil(comment);
    held.open();
    const { events, response } = await judge(open.response, await open.readAll());
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'error',
      'response.failed',
    ]);
    expect(events.at(-2)).toMatchObject({ code: 'rate_limit_exceeded', message: expect.stringContaining('Gone.') });
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'rate_limit_exceeded', message: expect.stringContaining('Gone.') },
      error_type: 'rate_limit_exceeded',
      output: [],
      usage: null,
      router_metadata: { attempt: 1, attempts: [{ status: 429 }] },
    });
    const generation = await lab.gateway.get(`/generation?id=${open.response.headers.get('x-generation-id')}`);
    expect(await generation.json()).toMatchObject({ data: { status: 429, error_type: 'rate_limit_exceeded' } });
  });

  it('still falls back to the next endpoint', async () => {
    const held = gate();
    const other = await openLab({
      server: { keep_alive_comment_ms: 25 },
      providers: ['first', 'second'].map((name) => provider(wire, name, lab.upstream, { models: [{ model: 'm' }] })),
    });
    lab.upstream.respond(async () => {
      await held.opened;
      return json(complaint('Gone.'), { status: 500 });
    });
    lab.upstream.respond(answer({ wire, mode: 'streamed' }));
    const open = await openStream(other.gateway, { model: 'm' });
    await open.readUntil(comment);
    held.open();
    expectText(await judge(open.response, await open.readAll()), 'Hello there.');
    await other.close();
  });

  it('keeps the status of a failure that comes before any comment', async () => {
    const patient = await openLab({ server: { keep_alive_comment_ms: 60_000 } });
    patient.upstream.always(json(complaint('Gone.'), { status: 500 }));
    const outcome = await patient.ask({ wire, mode: 'streamed' });
    await patient.close();
    expectFailure(outcome, 502, 'provider_unavailable');
  });

  it('is interrupted as without comments', async () => {
    const held = gate();
    async function* broken(): AsyncGenerator<object> {
      yield* openFrames(wire, ['Hel', 'lo']);
      await held.opened;
      yield complaint('Gone.', { code: 500 });
    }
    lab.upstream.always(stream(wire, broken()));
    const open = await openStream(lab.gateway, { model: `${wire}/patient` });
    await open.readUntil(/Hel.*: ROUTER PROCESSING/s);
    held.open();
    expectBroken(await judge(open.response, await open.readAll()), 'provider_unavailable', 'Hello');
  });

  it('adds no comments to a buffered response', async () => {
    lab.upstream.always(throttle(answer({ wire, mode: 'buffered' }), 50, 15));
    const outcome = await lab.ask({ wire, mode: 'buffered' });
    expectText(outcome, 'Hello there.');
    expect(outcome.text).not.toContain('ROUTER');
  });

  it('sends no comments if it is off', async () => {
    const quiet = await openLab({ server: { keep_alive_comment_ms: 0 } });
    quiet.upstream.always(throttle(answer({ wire, mode: 'streamed' }), 100, 15));
    const outcome = await quiet.ask({ wire, mode: 'streamed' });
    await quiet.close();
    expectText(outcome, 'Hello there.');
    expect(outcome.comments).toEqual([]);
  });
});
