import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OutputItem } from '../../src/domain/items.ts';
import { isFull } from '../../src/testing/full.ts';
import { stallBeforeHeaders } from '../../src/testing/scripted-responses.ts';
import type { ScriptedRequest } from '../../src/testing/scripted-upstream.ts';
import { readStream } from '../../src/testing/test-gateway.ts';
import { newSession, rowsOf } from '../api/ledger-rows.ts';
import { openStream } from '../api/open-stream.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { type ExpectedRun, expectedRun, lastTurn, type ModelTurn } from './expected-run.ts';
import {
  call,
  modes,
  openToolLab,
  type Served,
  speakers,
  stageOf,
  type ToolLab,
  type WireName,
  wireNames,
} from './lab.ts';
import { readSent, type SentTurn } from './sent.ts';

/*
 * Random models call random tools, fail and are cut off. What the gateway sends, returns and records is compared with a
 * model of the loop of a few lines.
 */

const folder = mkdtempSync(join(tmpdir(), 'headgate-tools-'));
let lab: ToolLab;
beforeAll(async () => {
  const path = join(folder, 'echo.mjs');
  const source = `export default {
    type: 'router:echo',
    description: 'Repeats a text, or fails.',
    arguments: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: false },
    async execute({ text }, _parameters, { fail }) {
      if (text === 'late') await new Promise(setImmediate);
      if (text === 'broken') throw new Error('broken');
      if (text === 'fails') fail('It fails.');
      return { result: { text } };
    },
  };`;
  writeFileSync(path, source);
  lab = await openToolLab({ tools: { modules: [path] } });
});
afterAll(async () => {
  await lab.close();
  rmSync(folder, { recursive: true, force: true });
});

const turnTokens = defaultCounts.input + defaultCounts.output;

const text = fc.constantFrom('now', 'late', 'broken', 'fails');
const anyCall = fc.oneof(
  { weight: 5, arbitrary: text.map((each) => call('router_echo', { text: each })) },
  { weight: 1, arbitrary: fc.constantFrom(call('router_echo'), call('router_echo', { text: 5 }), call('router_none')) },
);
const calls = fc.record({
  words: fc.constantFrom('', 'Let me see.'),
  calls: fc.array(anyCall, { minLength: 1, maxLength: 4 }),
});
/** Most turns call only tools of the gateway, so that runs are long. */
const seldom = (weight: number) =>
  fc.oneof({ weight, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
const anyTurn = fc
  .tuple(calls, seldom(8), seldom(12), seldom(6))
  .map(([base, asksClient, isCut, fails]): ModelTurn => ({ ...base, asksClient, isCut, fails }));
const limits = fc.oneof(
  fc.record({ max_tool_calls: fc.integer({ min: 0, max: 12 }) }),
  fc.record({
    stop_server_tools_when: fc.record({
      type: fc.constant('step_count_is'),
      step_count: fc.integer({ min: 1, max: 8 }),
    }),
  }),
  fc.record({
    stop_server_tools_when: fc.tuple(
      fc.record({
        type: fc.constant('max_tokens_used'),
        max_tokens: fc.integer({ min: 1, max: 4 }).map((count) => count * turnTokens),
      }),
      fc.record({ type: fc.constant('has_tool_call'), tool_name: fc.constantFrom('router_none', 'ask_user') }),
    ),
  }),
);
const run = fc.record({
  wire: fc.constantFrom(...wireNames),
  turns: fc.array(anyTurn, { maxLength: 5 }),
  limit: limits,
});
const tools = [
  { type: 'router:echo' },
  { type: 'function', name: 'ask_user', parameters: { type: 'object', properties: {} } },
];
const turnNanoUsd = (defaultCounts.input + defaultCounts.output * 10) * 1000;

/** The parts of items that do not differ between two runs. */
const bare = ({ type, status, content, error, result, name }: OutputItem) => ({
  type,
  status,
  error,
  result,
  name,
  texts: (content as { text?: string }[] | undefined)?.map((part) => part.text),
});

/**
 * Scripts both servers for one run, whose input contains the mark. Requests of a run that the client has left can still
 * arrive.
 *
 * @returns the requests that they have served
 */
function follow(wire: WireName, script: readonly ModelTurn[], mark: string): ScriptedRequest[] {
  const served: ScriptedRequest[] = [];
  let hasFailed = false;
  for (const upstream of lab.upstreams) {
    upstream.always((request) => {
      if (!request.text.includes(mark)) return stallBeforeHeaders();
      const { words, calls, asksClient, isCut, fails } = script[served.length] ?? lastTurn;
      if (fails && !hasFailed) {
        hasFailed = true;
        return speakers[wire]({ fail: { status: 503, message: 'Busy.' } }, request);
      }
      hasFailed = false;
      served.push(request);
      const all = asksClient ? [...calls, call('ask_user')] : calls;
      const turn: Turn = {
        ...(words && { text: words }),
        ...(all.length > 0 && { calls: all }),
        ...(isCut && { finish: 'length' as const }),
      };
      return speakers[wire](turn, request);
    });
  }
  return served;
}

function matches(result: unknown, expected: object): void {
  const pattern = (expected as { error?: unknown }).error;
  if (pattern instanceof RegExp) expect(result).toEqual({ error: expect.stringMatching(pattern) });
  else expect(result).toEqual(expected);
}

function checkSent(sent: readonly SentTurn[], expected: ExpectedRun): void {
  expect(sent).toHaveLength(expected.turns.length);
  const results: object[] = [];
  for (const [at, turn] of sent.entries()) {
    const { choice, tools: seen } = expected.turns[at]!;
    const names = { all: ['router_echo', 'ask_user'], client: ['ask_user'], none: [] }[seen];
    expect(turn.tools, `tools of turn ${at}`).toEqual(names);
    expect(turn.choice, `choice of turn ${at}`).toBe(choice);
    expect(turn.calls.map(({ id }) => id)).toEqual(turn.results.map(({ id }) => id));
    expect(turn.results).toHaveLength(results.length);
    for (const [index, { value }] of turn.results.entries()) matches(value, results[index]!);
    results.push(...expected.turns[at]!.results);
  }
}

function checkServed(served: Served, expected: ExpectedRun): void {
  const { body } = served;
  expect(body.status).toBe(expected.status);
  const echoes = body.output.filter(({ type }) => type === 'router:echo');
  expect(echoes).toHaveLength(expected.items.length);
  for (const [index, { result, error, status }] of echoes.entries()) {
    expect(status).toBe(error === undefined ? 'completed' : 'failed');
    matches(error === undefined ? JSON.parse(String(result)) : { error }, expected.items[index]!);
  }
  const messages = body.output.filter(({ type }) => type === 'message').map((item) => bare(item).texts?.join(''));
  expect(messages).toEqual(expected.texts);
  if (expected.status === 'completed') {
    expect(body.output.some(({ type }) => type === 'function_call')).toBe(expected.hasClientCall);
  }
  expect(body.usage).toMatchObject({
    input_tokens: expected.turns.length * defaultCounts.input,
    output_tokens: expected.turns.length * defaultCounts.output,
  });
  const use = expected.requested === 0 ? undefined : { tool_calls_requested: expected.requested };
  expect(body.usage?.server_tool_use_details).toEqual(
    use && { ...use, tool_calls_executed: expected.items.length, web_search_requests: 0 },
  );
  expect(stageOf(served)?.['stop_reason']).toBe(expected.reason);
}

it(
  'every call has its result, no budget is exceeded, a stream is its buffered response, and the ledger has the sum',
  async () => {
    await fc.assert(
      fc.asyncProperty(run, async ({ wire, turns, limit }) => {
        const expected = expectedRun(turns, limit, turnTokens);
        const outputs = [];
        for (const mode of modes) {
          const session = newSession();
          const requests = follow(wire, turns, session);
          const request = { tools, input: session, ...limit, session_id: session };
          const served = await lab.respond(wire, mode, request);
          checkSent(
            requests.map((request) => readSent(wire, request)),
            expected,
          );
          checkServed(served, expected);
          const rows = await rowsOf(lab.gateway.dataDir, session);
          expect(rows).toMatchObject([
            { outcome: expected.status, cost_nano_usd: expected.turns.length * turnNanoUsd, estimated: 0 },
          ]);
          outputs.push({ items: served.body.output.map(bare), usage: served.body.usage });
        }
        expect(outputs[1]).toEqual(outputs[0]);
      }),
      { numRuns: isFull ? 50 : 15 },
    );
  },
  isFull ? 600_000 : 120_000,
);

it(
  'a client that disconnects at any event has a prefix of the stream, and the ledger has what was used',
  async () => {
    await fc.assert(
      fc.asyncProperty(run, fc.nat({ max: 999 }), async ({ wire, turns, limit }, share) => {
        const mark = newSession();
        const whole = follow(wire, turns, mark);
        const { events } = await lab.respond(wire, 'streamed', { tools, input: mark, ...limit });
        const types = events.map(({ type }) => type);
        const wanted = 1 + Math.floor(((types.length - 1) * share) / 1000);
        const before = whole.length;

        const session = newSession();
        const requests = follow(wire, turns, session);
        const body = { model: `acme/${wire}`, input: session, tools, ...limit, session_id: session };
        const open = await openStream(lab.gateway, body);
        await open.readUntil(new RegExp(`"sequence_number":${wanted - 1}\\b`));
        open.leave();
        const rows = await rowsOf(lab.gateway.dataDir, session);
        const read = await readStream(new Response(open.text.slice(0, open.text.lastIndexOf('\n\n') + 2)));
        expect(read.events.map(({ type }) => type)).toEqual(types.slice(0, read.events.length));
        expect(read.events.length).toBeGreaterThanOrEqual(wanted);

        expect(rows).toHaveLength(1);
        const [row] = rows;
        expect(row!.outcome).toMatch(/^(cancelled|completed|incomplete)$/);
        expect(row!.cost_nano_usd).toBe(Number(row!['input_tokens']) * 1000 + Number(row!['output_tokens']) * 10_000);
        expect(requests.length).toBeLessThanOrEqual(before);
        const ended = await Promise.all(requests.map(({ closed }) => closed));
        // All turns but the last one have ended regularly.
        expect(Number(row!['output_tokens'])).toBeGreaterThanOrEqual((ended.length - 1) * defaultCounts.output);
      }),
      { numRuns: isFull ? 40 : 10 },
    );
  },
  isFull ? 600_000 : 120_000,
);
