import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScriptedResponse } from '../../src/testing/scripted-responses.ts';
import { stallBeforeHeaders } from '../../src/testing/scripted-responses.ts';
import { isFull } from '../../src/testing/full.ts';
import { gate, openStream } from '../api/open-stream.ts';
import { type LedgerRow, newSession, rowsOf } from '../api/ledger-rows.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { holdTool } from './held-tool.ts';
import { call, openToolLab, speakers, type ToolLab, type WireName, wireNames } from './lab.ts';

/*
 * A client disconnects at every point of a run of three turns and three calls. The model and the tools end at once, no
 * other turn is sent, and the ledger has what was used.
 */

const held = holdTool('cancel');
let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab({ tools: { modules: [held.path] } });
});
afterAll(async () => {
  await lab.close();
  held.close();
});

const turns: readonly Turn[] = [
  {
    reasoning: 'word0a word0b word0c',
    text: 'word0d word0e word0f',
    calls: [call(held.name, { text: 'first' }), call(held.name, { text: 'second' })],
  },
  { text: 'word1a word1b word1c', calls: [call(held.name, { text: 'third' })] },
  { text: 'word2a word2b word2c' },
];
const callsOf = (turn: number) => turns[turn]!.calls?.length ?? 0;

/** The moment of a disconnect. */
type Point =
  /** The provider has sent a turn up to this word. Undefined: nothing, not even headers. */
  | { turn: number; word: string | undefined }
  /** The calls of a turn run, and this many of them have ended. */
  | { turn: number; ended: number };

const points: Point[] = turns.flatMap(({ reasoning = '', text = '' }, turn): Point[] => [
  { turn, word: undefined },
  ...`${reasoning} ${text}`
    .trim()
    .split(' ')
    .map((word) => ({ turn, word })),
  ...Array.from({ length: callsOf(turn) }, (_, ended) => ({ turn, ended })),
]);

/** The pieces of a response up to the one with the word, then silence. */
function cutAt(response: ScriptedResponse, word: string): ScriptedResponse {
  async function* pieces(): AsyncIterable<Buffer> {
    for await (const piece of response.pieces()) {
      yield piece;
      if (piece.includes(word)) return;
    }
  }
  return { ...response, pieces, end: 'silence' };
}

interface Outcome {
  session: string;
  /** Model calls that had ended. */
  done: number;
  /** Whether one was in progress. */
  isOpen: boolean;
  /** Its words that the client has read. */
  words: number;
}

/** Sends the request, disconnects at the point, and waits until the provider and the tools have noticed it. */
async function leaveAt(wire: WireName, isStreamed: boolean, point: Point): Promise<Outcome> {
  const session = newSession();
  const isInTool = 'ended' in point;
  const done = isInTool ? point.turn + 1 : point.turn;
  const [upstream, second] = lab.upstreams;
  const before = [upstream.requests.length, second.requests.length] as const;
  lab.script(wire, ...turns.slice(0, done));
  const arrived = gate();
  if (!isInTool) {
    upstream.respond((request) => {
      arrived.open();
      if (point.word === undefined || !isStreamed) return stallBeforeHeaders();
      return cutAt(speakers[wire](turns[point.turn]!, request), point.word);
    });
  }
  const body = {
    model: `acme/${wire}`,
    session_id: session,
    input: 'Begin.',
    tools: [{ type: held.type }],
    provider: { order: [`${wire}-0`, `${wire}-1`] },
  };
  const client = new AbortController();
  const hasHeaders = isStreamed && (isInTool || done > 0 || point.word !== undefined);
  const open = hasHeaders ? await openStream(lab.gateway, body) : undefined;
  const request = { ...body, stream: isStreamed };
  const other = open ? undefined : lab.gateway.post('/responses', request, { signal: client.signal }).catch(() => {});
  for (let turn = 0; turn < done - (isInTool ? 1 : 0); turn++) {
    for (let index = 0; index < callsOf(turn); index++) (await held.next()).finish({ turn });
  }
  const running: AbortSignal[] = [];
  if (isInTool) {
    for (let index = 0; index < callsOf(point.turn); index++) {
      const { finish, signal, text } = await held.next();
      if (index < point.ended) finish({ text });
      else running.push(signal);
    }
    if (open && point.ended > 0) await open.readUntil('"type":"router:held_cancel","status":"completed"');
  } else {
    await arrived.opened;
    if (open && point.word !== undefined) await open.readUntil(point.word);
  }
  open?.leave();
  client.abort();
  await other;

  if (!isInTool) expect(await upstream.requests.at(-1)!.closed).toBe('aborted');
  for (const signal of running) {
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }
  expect(upstream.requests.length - before[0]).toBe(isInTool ? done : done + 1);
  expect(second.requests.length).toBe(before[1]);
  const read = isInTool || point.word === undefined || !isStreamed ? 0 : 1 + point.word.charCodeAt(5) - 97;
  return { session, done, isOpen: !isInTool, words: read };
}

function checkRow(row: LedgerRow, { done, isOpen, words }: Outcome, what: string): void {
  const [input, output] = [Number(row['input_tokens']), Number(row['output_tokens'])];
  expect(row, what).toMatchObject({ outcome: 'cancelled', status: 499, estimated: isOpen ? 1 : 0 });
  expect(row.cost_nano_usd, what).toBe(input * 1000 + output * 10_000);
  if (!isOpen) expect([input, output], what).toEqual([done * defaultCounts.input, done * defaultCounts.output]);
  else {
    expect(input, what).toBeGreaterThan(done * defaultCounts.input);
    // A word is two or three tokens.
    expect(output - done * defaultCounts.output, what).toBeGreaterThanOrEqual(words);
    expect(output - done * defaultCounts.output, what).toBeLessThanOrEqual(3 * words);
  }
}

describe.each(isFull ? wireNames : (['openai-chat', 'anthropic-messages'] as const))('on %s', (wire) => {
  it.each(['streamed', 'buffered'] as const)('%s: a client that disconnects ends everything', async (mode) => {
    const outcomes: [Point, Outcome][] = [];
    for (const point of points) outcomes.push([point, await leaveAt(wire, mode === 'streamed', point)]);
    for (const [point, outcome] of outcomes) {
      const rows = await rowsOf(lab.gateway.dataDir, outcome.session);
      expect(rows).toHaveLength(1);
      checkRow(rows[0]!, outcome, JSON.stringify(point));
    }
  });
});
