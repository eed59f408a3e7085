import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openJournal } from '../../src/metering/journal.ts';
import { type ScriptedResponse, json, stallBeforeHeaders } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import {
  answer,
  ask,
  type Case,
  cases,
  chatChunk,
  openFrames,
  provider,
  responseObject,
  stream,
  type WireName,
  wholeBody,
  wireNames,
} from './lab.ts';
import { newSession, rowsOf } from './ledger-rows.ts';
import { main, manage } from './manage.ts';
import { expectText, type Outcome } from './outcome.ts';
import { patient } from '../../src/testing/patience.ts';

const pricing = { prompt: '0.000001', completion: '0.000002', cache_read: '0.0000001', request: '0.00005' };
/** The cost of a response of the lab: 15 uncached and 5 cached input tokens, 10 output tokens, and the request. */
const answerCost = 15_000 + 500 + 20_000 + 50_000;

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: wireNames.flatMap((wire) =>
      ['first', 'second'].map((name) =>
        provider(wire, name, upstream, {
          name,
          models: [{ model: `${wire}/${name}`, upstream_model: 'm', pricing }],
        }),
      ),
    ),
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

/** Sends a request to the first model with the second as its fallback: one response for each. */
async function askBoth(
  { wire, mode }: Case,
  ...answers: ScriptedResponse[]
): Promise<{ outcome: Outcome; session: string }> {
  for (const each of answers) upstream.respond(each);
  const session = newSession();
  const models = answers.length > 1 ? [`${wire}/second`] : undefined;
  return { outcome: await ask(gateway, mode, { model: `${wire}/first`, models, session_id: session }), session };
}

async function rowOf(session: string) {
  const rows = await rowsOf(gateway.dataDir, session);
  expect(rows).toHaveLength(1);
  return rows[0]!;
}
const query = (sql: string, ...values: string[]): Record<string, unknown>[] => {
  const database = new DatabaseSync(join(gateway.dataDir, 'headgate.db'), { readOnly: true, timeout: patient(5000) });
  try {
    return database.prepare(sql).all(...values);
  } finally {
    database.close();
  }
};
const linesOf = (id: string) => query('select * from ledger_lines where entry_id = ? order by position', id);
const generationOf = async ({ headers }: Outcome) =>
  ((await (await gateway.get(`/generation?id=${headers.get('x-generation-id')}`)).json()) as { data: object }).data;

/** An interrupted response for which the provider reports 100 input and 40 output tokens. */
function brokenOff({ wire, mode }: Case): ScriptedResponse {
  const usage = { prompt_tokens: 100, completion_tokens: 40, total_tokens: 140 };
  if (wire === 'openai-chat') {
    const choice = { index: 0, finish_reason: 'error', [mode === 'streamed' ? 'delta' : 'message']: { content: '' } };
    const body = { ...wholeBody(wire), choices: [choice], usage };
    return mode === 'streamed' ? stream(wire, [body]) : json(body);
  }
  const response = {
    ...responseObject('failed', []),
    error: { code: 'server_error', message: 'No.' },
    usage: { input_tokens: 100, output_tokens: 40, total_tokens: 140 },
  };
  return mode === 'streamed' ? stream(wire, [{ type: 'response.failed', response }]) : json(response);
}
const brokenCost = 100_000 + 80_000 + 50_000;

describe.each(cases)('$wire, $mode, an interrupted attempt with a report', (how) => {
  const { wire } = how;

  it('is a line beside the response, and the entry is their sum', async () => {
    const { outcome, session } = await askBoth(how, brokenOff(how), answer(how));
    const response = expectText(outcome, 'Hello there.');
    const row = await rowOf(session);
    expect(row).toMatchObject({
      outcome: 'completed',
      status: 200,
      model: `${wire}/second`,
      provider: 'second',
      estimated: 0,
      priced: 1,
      input_tokens: 120,
      cached_tokens: 5,
      output_tokens: 50,
      cost_nano_usd: brokenCost + answerCost,
    });
    const line = { entry_id: row.id, kind: 'attempt', priced: 1, estimated: 0 };
    expect(linesOf(row.id)).toMatchObject([
      {
        ...line,
        position: 0,
        model: `${wire}/first`,
        provider: 'first',
        status: 502,
        input_tokens: 100,
        cached_tokens: 0,
        output_tokens: 40,
        cost_nano_usd: brokenCost,
      },
      {
        ...line,
        position: 1,
        model: `${wire}/second`,
        provider: 'second',
        status: 200,
        input_tokens: 20,
        cached_tokens: 5,
        output_tokens: 10,
        cost_nano_usd: answerCost,
      },
    ]);
    expect(response.usage).toMatchObject({ input_tokens: 20, output_tokens: 10, cost: row.cost_nano_usd / 1e9 });
    expect(await generationOf(outcome)).toMatchObject({
      total_cost: row.cost_nano_usd / 1e9,
      tokens_prompt: 120,
      provider_responses: [
        { provider_name: 'first', model_permaslug: `${wire}/first`, status: 502 },
        { provider_name: 'second', model_permaslug: `${wire}/second`, status: 200 },
      ],
    });
  });

  it('is added to the reservation of the next attempt, which is not sent if both do not fit', async () => {
    const askFor = async (limitNanoUsd: number) => {
      const made = { name: 'poor', workspace_id: main, limit: limitNanoUsd / 1e9 };
      const { key } = (await manage(() => gateway)('POST', '/keys', made)).body as { key: string };
      const body = { model: `${wire}/first`, models: [`${wire}/second`], max_output_tokens: 10 };
      const session = newSession();
      return { key, session, ...(await ask(gateway, how.mode, { ...body, session_id: session }, { key })) };
    };
    const heldAtFirst = 80_000; // the request, ten tokens of output, and a few of input: less than that
    const before = upstream.requests.length;
    upstream.respond(brokenOff(how));
    const refused = await askFor(brokenCost + 60_000);
    expect(refused.status).toBe(402);
    expect(refused.envelope!.error).toMatchObject({
      message: expect.stringContaining(
        'failed attempts of this request have cost 0.00023 USD, which leaves too little for another attempt',
      ),
      metadata: {
        limit_source: 'router_in_flight_budget',
        previous_errors: [{ provider: 'first', status: 502 }],
      },
    });
    expect(upstream.requests).toHaveLength(before + 1);
    expect(await rowOf(refused.session)).toMatchObject({ outcome: 'failed', status: 402, cost_nano_usd: brokenCost });

    upstream.respond(brokenOff(how));
    upstream.respond(answer(how));
    const fits = await askFor(brokenCost + answerCost + heldAtFirst);
    expectText(fits, 'Hello there.');
    upstream.respond(answer(how)); // nothing is reserved any more: there is enough for another one
    const { key } = fits;
    expectText(
      await ask(gateway, how.mode, { model: `${wire}/first`, max_output_tokens: 10 }, { key }),
      'Hello there.',
    );
  });

  it('is a line of the entry that the next start records if the gateway is killed during the next attempt', async () => {
    const session = newSession();
    const before = upstream.requests.length;
    const client = new AbortController();
    upstream.respond(brokenOff(how));
    upstream.respond(stallBeforeHeaders());
    const body = { model: `${wire}/first`, models: [`${wire}/second`], input: 'Hello', session_id: session };
    const answered = gateway.post('/responses', body, { signal: client.signal }).catch(() => {});
    await expect.poll(() => upstream.requests.length).toBe(before + 2);
    // The files that a kill would leave at this moment.
    const folder = mkdtempSync(join(tmpdir(), 'headgate-killed-'));
    cpSync(join(gateway.dataDir, 'journal'), folder, { recursive: true });
    const { orphaned, journal } = openJournal(folder);
    journal.close();
    rmSync(folder, { recursive: true });
    client.abort();
    await answered;
    await rowOf(session); // and all that follows is done
    const entry = orphaned.entries.find(({ sessionId }) => sessionId === session)!;
    expect(entry.lines).toMatchObject([
      { provider: 'first', status: 502, outputTokens: 40, costNanoUsd: BigInt(brokenCost), estimated: false },
      { provider: 'second', status: 503, outputTokens: 0, estimated: true },
    ]);
    expect(entry.lines!.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n)).toBe(entry.costNanoUsd);
  });

  it('is the entry if no attempt succeeded', async () => {
    const { outcome, session } = await askBoth(how, brokenOff(how));
    expect(outcome.status).toBe(502);
    const row = await rowOf(session);
    expect(row).toMatchObject({
      outcome: 'failed',
      status: 502,
      model: `${wire}/first`,
      provider: 'first',
      estimated: 0,
      input_tokens: 100,
      output_tokens: 40,
      cost_nano_usd: brokenCost,
    });
    expect(linesOf(row.id)).toEqual([]);
  });
});

describe.each(cases)('$wire, $mode', (how) => {
  const { wire, mode } = how;

  it('a single response has no lines', async () => {
    const { outcome, session } = await askBoth(how, answer(how));
    const row = await rowOf(session);
    expect(row.cost_nano_usd).toBe(answerCost);
    expect(linesOf(row.id)).toEqual([]);
    expect(await generationOf(outcome)).toMatchObject({
      provider_responses: [{ provider_name: 'first', model_permaslug: `${wire}/first`, status: 200 }],
    });
  });

  it('an attempt without output costs nothing, whatever input it reports', async () => {
    const zero = JSON.parse(JSON.stringify(wholeBody(wire, '')), (key, value) =>
      /^(?:completion|output)_tokens$/.test(key) ? 0 : value,
    );
    if (wire === 'openai-chat')
      zero.choices[0].finish_reason = null; // a blank finish
    else Object.assign(zero, { status: 'failed', error: { code: 'server_error', message: 'No.' }, output: [] });
    const asStream =
      wire === 'openai-chat' ? { ...zero, choices: [{ index: 0, delta: {}, finish_reason: null }] } : zero;
    const nothing =
      mode === 'buffered'
        ? json(zero)
        : stream(wire, [wire === 'openai-chat' ? asStream : { type: 'response.failed', response: zero }]);
    const { outcome, session } = await askBoth(how, nothing);
    expect(outcome.status).toBe(502);
    expect(await rowOf(session)).toMatchObject({ cost_nano_usd: 0, input_tokens: 0, output_tokens: 0, provider: null });

    const next = await askBoth(how, nothing, answer(how));
    const row = await rowOf(next.session);
    expect(row.cost_nano_usd).toBe(answerCost);
    expect(linesOf(row.id)).toEqual([]);
  });
});

describe.each(['openai-chat', 'openai-responses'] as const)('%s, a buffered response', (wire) => {
  it('and is interrupted as a stream is recorded as an estimate', async () => {
    const how = { wire, mode: 'buffered' } as const;
    const words = 'four score and seven years ago';
    const cut = stream(wire, openFrames(wire, [words]), { done: false });
    const { session } = await askBoth(how, cut, answer(how));
    const row = await rowOf(session);
    expect(row).toMatchObject({ outcome: 'completed', estimated: 1, model: `${wire}/second` });
    expect(linesOf(row.id)).toMatchObject([
      { status: 502, estimated: 1, output_tokens: 6, input_tokens: 3 },
      { status: 200, estimated: 0, output_tokens: 10, cost_nano_usd: answerCost },
    ]);
  });
});

/** The reports of each wire with running counts if its stream is interrupted after "four score". */
const cutStreams: Partial<Record<WireName, { frames: object[]; counts: object }>> = {
  'openai-chat': {
    frames: [
      { ...chatChunk({ role: 'assistant', content: 'four' }), usage: { prompt_tokens: 100, completion_tokens: 1 } },
      { ...chatChunk({ content: ' score' }), usage: { prompt_tokens: 100, completion_tokens: 7 } },
    ],
    counts: { input_tokens: 100, output_tokens: 7, estimated: 0, cost_nano_usd: 100_000 + 14_000 + 50_000 },
  },
  // The output is reported only at the end.
  'anthropic-messages': {
    frames: [
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          usage: { input_tokens: 95, cache_read_input_tokens: 5, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'four score' } },
    ],
    counts: {
      input_tokens: 100,
      cached_tokens: 5,
      output_tokens: 2,
      estimated: 1,
      cost_nano_usd: 95_000 + 500 + 4_000 + 50_000,
    },
  },
  gemini: {
    frames: ['four', ' sco', 're'].map((text, index) => ({
      candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }],
      usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 5 + index, totalTokenCount: 105 + index },
      modelVersion: 'm',
    })),
    counts: { input_tokens: 100, output_tokens: 7, estimated: 0, cost_nano_usd: 100_000 + 14_000 + 50_000 },
  },
};

it.each(
  Object.keys(cutStreams) as WireName[],
)('%s: an interrupted stream is recorded with the counts so far', async (wire) => {
  const { frames, counts } = cutStreams[wire]!;
  const how = { wire, mode: 'streamed' } as const;
  const { outcome, session } = await askBoth(how, stream(wire, frames, { done: false }));
  expect(outcome.response).toMatchObject({ status: 'failed', usage: { input_tokens: 100 } });
  expect(await rowOf(session)).toMatchObject({ outcome: 'failed', provider: 'first', ...counts });
});

it('gemini: a malformed call is counted, and the next endpoint is called', async () => {
  const candidate = { content: { role: 'model', parts: [] }, finishReason: 'MALFORMED_FUNCTION_CALL', index: 0 };
  const usageMetadata = {
    promptTokenCount: 100,
    candidatesTokenCount: 0,
    thoughtsTokenCount: 40,
    totalTokenCount: 140,
  };
  const whole = {
    candidates: [{ ...candidate, content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 },
  };
  const how = { wire: 'gemini', mode: 'buffered' } as const;
  const { session } = await askBoth(how, json({ candidates: [candidate], usageMetadata }), json(whole));
  const row = await rowOf(session);
  expect(linesOf(row.id)).toMatchObject([
    { input_tokens: 100, output_tokens: 40, reasoning_tokens: 40, cost_nano_usd: brokenCost },
    { input_tokens: 10, output_tokens: 2, cost_nano_usd: 10_000 + 4_000 + 50_000 },
  ]);
});

it('a regular end without output is a failure that is charged for its input', async () => {
  const body = {
    ...wholeBody('openai-chat', ''),
    usage: { prompt_tokens: 20, completion_tokens: 0, total_tokens: 20 },
  };
  const { session } = await askBoth({ wire: 'openai-chat', mode: 'buffered' }, json(body));
  expect(await rowOf(session)).toMatchObject({ outcome: 'failed', input_tokens: 20, cost_nano_usd: 70_000 });
});

it('a response without output and counts is a line beside the interrupted attempt', async () => {
  const how = { wire: 'openai-chat', mode: 'buffered' } as const;
  const { usage: _, ...body } = wholeBody('openai-chat', '');
  Object.assign((body['choices'] as object[])[0]!, { finish_reason: 'length' });
  const { session } = await askBoth(how, brokenOff(how), json(body));
  const row = await rowOf(session);
  expect(row).toMatchObject({ outcome: 'incomplete', provider: 'second', cost_nano_usd: brokenCost + 50_000 });
  expect(linesOf(row.id)).toMatchObject([
    { provider: 'first', output_tokens: 40, cost_nano_usd: brokenCost },
    { provider: 'second', output_tokens: 0, cost_nano_usd: 50_000 },
  ]);
});

it('an attempt without a known price makes the sum unknown', async () => {
  const two = await testGateway({
    providers: [
      provider('openai-chat', 'first', upstream),
      provider('openai-chat', 'second', upstream, {
        models: [{ model: 'openai-chat/second', upstream_model: 'm', pricing }],
      }),
    ],
  });
  const how = { wire: 'openai-chat', mode: 'buffered' } as const;
  upstream.respond(brokenOff(how));
  upstream.respond(answer(how));
  const outcome = await ask(two, how.mode, { model: 'openai-chat/first', models: ['openai-chat/second'] });
  expect(outcome.response?.usage).toMatchObject({ cost: null });
  await two.close();
});

it('the spending sums match the ledger, and every entry with lines is their sum', () => {
  const sum = (column: string, table: string) => query(`select sum(${column}) as sum from ${table}`)[0]?.['sum'];
  expect(sum('cost_nano_usd + byok_nano_usd', 'spending')).toBe(sum('cost_nano_usd', 'ledger'));
  const counts = ['input_tokens', 'cached_tokens', 'output_tokens', 'cost_nano_usd', 'input_cost_nano_usd'];
  const wrong = query(
    `select ledger.id from ledger join ledger_lines on entry_id = id group by id
     having ${counts.map((count) => `ledger.${count} <> sum(ledger_lines.${count})`).join(' or ')}`,
  );
  expect(wrong).toEqual([]);
  expect(query('select * from ledger_lines').length).toBeGreaterThan(0);
});
