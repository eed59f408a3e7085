import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OutputItem } from '../../src/domain/items.ts';
import { isFull } from '../../src/testing/full.ts';
import { newSession, rowsOf } from '../api/ledger-rows.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { call, openToolLab, type Served, stageOf, type ToolLab, type WireName, wireNames } from './lab.ts';

/* Random models call random tools. Whatever they do, the rules of the loop hold. */

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

const text = fc.constantFrom('now', 'late', 'broken', 'fails');
const anyCall = fc.oneof(
  { weight: 4, arbitrary: text.map((each) => call('router_echo', { text: each })) },
  { weight: 1, arbitrary: fc.constantFrom(call('router_echo'), call('router_echo', { text: 5 }), call('router_none')) },
);
const turn = fc.record({
  words: fc.constantFrom('', 'Let me see.'),
  calls: fc.array(anyCall, { minLength: 1, maxLength: 4 }),
});
const run = fc.record({
  wire: fc.constantFrom(...wireNames),
  turns: fc.array(turn, { maxLength: 4 }),
  limit: fc.integer({ min: 0, max: 8 }),
  /** The turn that calls a function of the client; none if there are fewer turns. */
  clientAt: fc.integer({ min: 0, max: 12 }),
});
const tools = [
  { type: 'router:echo' },
  { type: 'function', name: 'ask_user', parameters: { type: 'object', properties: {} } },
];
const turnNanoUsd = (defaultCounts.input + defaultCounts.output * 10) * 1000;

/** The parts of items that do not differ between two runs. */
const bare = ({ type, status, content, error, result, name }: OutputItem) => ({
  ...{ type, status, error, result, name },
  texts: (content as { text?: string }[] | undefined)?.map((part) => part.text),
});

it(
  'every call has a response, no budget is exceeded, and a stream is its buffered response',
  async () => {
    await fc.assert(
      fc.asyncProperty(run, async ({ wire, turns, limit, clientAt }) => {
        const scripted = turns.map(({ words, calls }, at): Turn => {
          const all = at === clientAt ? [...calls, call('ask_user')] : calls;
          return { ...(words && { text: words }), calls: all };
        });
        const serve = async (mode: 'buffered' | 'streamed') => {
          const session = newSession();
          let at = 0;
          lab.always(wire, () => scripted[at++] ?? { text: 'Done.' });
          lab.takeRequests();
          const served = await lab.respond(wire, mode, { tools, max_tool_calls: limit, session_id: session });
          expect(served.body.status).toBe('completed');
          const requests = lab.takeRequests();
          check(served, requests.length, limit);
          const [row] = await rowsOf(lab.gateway.dataDir, session);
          expect(row).toMatchObject({ outcome: 'completed', cost_nano_usd: requests.length * turnNanoUsd });
          for (const { text: sent } of requests) checkAnswered(wire, sent);
          return served;
        };
        const [buffered, streamed] = [await serve('buffered'), await serve('streamed')];
        expect(streamed.body.output.map(bare)).toEqual(buffered.body.output.map(bare));
        expect(streamed.body.usage).toEqual(buffered.body.usage);
      }),
      { numRuns: isFull ? 500 : 25 },
    );
  },
  isFull ? 600_000 : 60_000,
);

function check(served: Served, turnCount: number, limit: number): void {
  const ran = served.body.output.filter(({ type }) => type === 'router:echo');
  expect(ran.length).toBeLessThanOrEqual(limit);
  const use = served.body.usage?.server_tool_use_details;
  expect(use?.tool_calls_executed ?? 0).toBe(ran.length);
  expect(use?.tool_calls_requested ?? 0).toBe(stageOf(served)?.['steps'] ?? 0);
  expect(served.body.usage?.input_tokens).toBe(turnCount * defaultCounts.input);
  expect(ran.every(({ status }) => status === 'completed')).toBe(true);
}

/** Each call in the conversation that was sent has exactly one result, by id or by place. */
function checkAnswered(wire: WireName, sent: string): void {
  const ids = (pattern: RegExp) => [...sent.matchAll(pattern)].map(([, id]) => id).sort();
  if (wire === 'openai-chat') {
    const body = JSON.parse(sent) as { messages: { tool_calls?: { id: string }[]; tool_call_id?: string }[] };
    const made = body.messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
    expect(body.messages.flatMap(({ tool_call_id: id }) => id ?? []).sort()).toEqual(made.sort());
  } else if (wire === 'anthropic-messages') {
    expect(ids(/"tool_use_id":"([^"]+)"/g)).toEqual(ids(/"type":"tool_use","id":"([^"]+)"/g));
  } else if (wire === 'openai-responses' || wire === 'ai-sdk') {
    const { input } = JSON.parse(sent) as { input: { type: string; call_id?: string }[] };
    const of = (type: string) => input.flatMap((item) => (item.type === type ? item.call_id : [])).sort();
    expect(of('function_call_output')).toEqual(of('function_call'));
  } else expect(sent.split('"functionResponse"').length).toBe(sent.split('"functionCall":').length);
}
