import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ScriptedResponse, sse, stallAfter, stallBeforeHeaders } from '../../src/testing/scripted-responses.ts';
import type { Script } from '../../src/testing/scripted-upstream.ts';
import { answer, type Case, cases, type Lab, openFrames, openLab, provider, stream, wires } from './lab.ts';
import { type LedgerRow, newSession, rowsOf } from './ledger-rows.ts';
import { gate, openStream } from './open-stream.ts';
import { expectBroken, expectFailure, expectText } from './outcome.ts';
import { patient } from '../../src/testing/patience.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
});
afterAll(() => lab.close());

/** Sends a request, disconnects at a point of the script, and waits until the upstream notices it. */
async function leave({ wire, mode }: Case, script: (arrived: () => void) => Script): Promise<string> {
  const session = newSession();
  const client = new AbortController();
  const arrived = gate();
  lab.upstream.always(script(arrived.open));
  const body = { model: `${wire}/patient`, input: 'Say hello.', stream: mode === 'streamed', session_id: session };
  const asked = lab.gateway.post('/responses', body, { signal: client.signal }).then(
    (response) => response.text(),
    () => 'gone',
  );
  await arrived.opened;
  client.abort();
  await asked.catch(() => {});
  expect(await lab.upstream.requests.at(-1)?.closed).toBe('aborted');
  return session;
}

/** Returns the only row of a session. */
async function rowOf(session: string): Promise<LedgerRow> {
  const rows = await rowsOf(lab.gateway.dataDir, session);
  expect(rows).toHaveLength(1);
  return rows[0]!;
}

/** Reports when the response pauses: everything it will send is on its way. */
function telling(stalled: ScriptedResponse, arrived: () => void): ScriptedResponse {
  async function* pieces(): AsyncGenerator<Buffer> {
    yield* stalled.pieces();
    arrived();
  }
  return { ...stalled, pieces };
}

describe.each(cases)('$wire, $mode, a client that disconnects', (how) => {
  const { wire } = how;

  it('before the headers: the request to the provider is aborted, and its estimated input is charged', async () => {
    const session = await leave(how, (arrived) => () => {
      arrived();
      return stallBeforeHeaders();
    });
    const row = await rowOf(session);
    expect(row).toMatchObject({ outcome: 'cancelled', status: 499, output_tokens: 0, estimated: 1 });
    expect(row['input_tokens']).toBeGreaterThan(2);
    expect(row.cost_nano_usd).toBe(Number(row['input_tokens']) * 1000);
  });

  it('in the middle of the body: the request to the provider is aborted, and the ledger marks its estimate', async () => {
    const session = await leave(how, (arrived) => telling(stallAfter(150, answer(how)), arrived));
    expect(await rowOf(session)).toMatchObject({ outcome: 'cancelled', estimated: 1 });
  });

  it('after the first words of a stream: the request to the provider is aborted, and the ledger marks its estimate', async () => {
    let session = newSession();
    const words = 'four score and seven years ago our fathers brought forth';
    const frames = { ...stream(wire, openFrames(wire, [words]), { done: false }), end: 'silence' as const };
    if (how.mode === 'buffered') session = await leave(how, (arrived) => telling(frames, arrived));
    else {
      lab.upstream.always(frames);
      const open = await openStream(lab.gateway, { model: `${wire}/patient`, session_id: session });
      await open.readUntil('brought forth');
      open.leave();
      expect(await lab.upstream.requests.at(-1)?.closed).toBe('aborted');
    }
    const row = await rowOf(session);
    expect(row).toMatchObject({
      outcome: 'cancelled',
      status: 499,
      estimated: 1,
      streamed: how.mode === 'streamed' ? 1 : 0,
    });
    if (how.mode === 'buffered') return;
    expect(row['output_tokens']).toBe(11);
    expect(row['input_tokens']).toBeGreaterThan(2);
    expect(row.cost_nano_usd).toBe(Number(row['input_tokens']) * 1000 + Number(row['output_tokens']) * 2000);
    expect(row['model']).toBe(`${wire}/patient`);
  });

  it('does not affect the next one', async () => {
    lab.upstream.always(answer(how));
    expectText(await lab.ask(how), 'Hello there.');
  });
});

describe.each(wires)('%s, a client that disconnects from a silent stream', (wire) => {
  it('is noticed while comments keep it open', async () => {
    const other = await openLab({
      server: { keep_alive_comment_ms: 20 },
      providers: [provider(wire, 'patient', lab.upstream)],
    });
    lab.upstream.always(stallBeforeHeaders());
    const before = lab.upstream.requests.length;
    const open = await openStream(other.gateway, { model: `${wire}/patient` });
    await open.readUntil('ROUTER PROCESSING');
    await expect.poll(() => lab.upstream.requests.length).toBe(before + 1);
    const request = lab.upstream.requests.at(-1);
    open.leave();
    expect(await request?.closed).toBe('aborted');
    const generation = await other.gateway.get(`/generation?id=${open.response.headers.get('x-generation-id')}`);
    expect(await generation.json()).toMatchObject({
      data: { cancelled: true, usage_estimated: true, tokens_prompt: expect.any(Number), total_cost: null },
    });
    await other.close();
  });
});

it('a client that disconnects before the first word is charged for what the provider has counted', async () => {
  const counted = {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      usage: { input_tokens: 5000, output_tokens: 1 },
    },
  };
  const begun = { ...sse([counted], { named: true }), end: 'silence' as const };
  const session = await leave({ wire: 'anthropic-messages', mode: 'streamed' }, (arrived) => telling(begun, arrived));
  expect(await rowOf(session)).toMatchObject({
    outcome: 'cancelled',
    input_tokens: 5000,
    cost_nano_usd: 5000 * 1000,
    estimated: 1,
  });
});

it('a client that disconnects before the provider is connected is not charged', async () => {
  const asked = gate();
  const proxy = createServer((socket) => {
    socket.on('error', () => {}).once('data', asked.open); // the request for a tunnel, which never opens
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  const models = [{ model: 'a/b', pricing: { prompt: 1e-6, completion: 1e-6 } }];
  const other = await openLab({
    providers: [provider('openai-chat', 'far', lab.upstream, { proxy: `http://127.0.0.1:${port}`, models })],
  });
  const session = newSession();
  const client = new AbortController();
  const body = { model: 'a/b', input: 'Say hello.', session_id: session };
  const sent = other.gateway.post('/responses', body, { signal: client.signal }).catch(() => {});
  await asked.opened;
  client.abort();
  await sent;
  const [row] = await rowsOf(other.gateway.dataDir, session);
  expect(row).toMatchObject({ outcome: 'cancelled', status: 499, input_tokens: 0, cost_nano_usd: 0, estimated: 0 });
  await other.close();
  proxy.close();
});

it('the deadline of the gateway ends requests with 408 and aborts the requests to the provider', async () => {
  const other = await openLab({
    timeouts: { request_ms: patient(1500) }, // long enough for the first words
    server: { keep_alive_comment_ms: 0 }, // a stream that gets a comment before the deadline has the status 200
    providers: wires.flatMap((wire) => [
      provider(wire, 'patient', lab.upstream),
      provider(wire, 'second', lab.upstream),
    ]),
  });
  lab.upstream.always(stallBeforeHeaders());
  const before = lab.upstream.requests.length;
  const headers = { 'x-router-metadata': 'enabled' };
  await Promise.all(
    cases.map(async (how) => {
      const outcome = await other.ask(how, { headers, body: { models: [`${how.wire}/second`] } });
      const envelope = expectFailure(outcome, 408, 'timeout', /longer than \d+ ms \(timeouts.request_ms\)/);
      expect(envelope.router_metadata).toMatchObject({ attempt: 1, attempts: [{ status: 408 }] });
    }),
  );
  const asked = lab.upstream.requests.slice(before);
  expect(asked, 'no other provider is asked').toHaveLength(cases.length);
  for (const request of asked) expect(await request.closed).toBe('aborted');

  lab.upstream.always(({ path }) => {
    const wire = path.endsWith('/responses') ? 'openai-responses' : 'openai-chat';
    return { ...stream(wire, openFrames(wire, ['Hel', 'lo']), { done: false }), end: 'silence' };
  });
  await Promise.all(
    cases.map(async (how) => {
      const late = await other.ask(how);
      if (how.mode === 'buffered') expectFailure(late, 408, 'timeout');
      else expectBroken(late, 'timeout', 'Hello');
    }),
  );
  await other.close();
});
