import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { seededRandom } from '../../src/routing/routing-context.ts';
import { isFull } from '../../src/testing/full.ts';
import { testSeed } from '../../src/testing/seed.ts';
import { paint } from '../api/images-lab.ts';
import { type LedgerRow, newSession, readRows } from '../api/ledger-rows.ts';
import { defaultCounts } from '../clients/turn.ts';
import { type LongRun, type LongRunWire, longRunWires, openLongRun, type PlayedRun } from './long-run.ts';

/*
 * A client disconnects at each event of a long run. Everything that works for the run ends, the ledger has what was used,
 * and nothing stays open. bench/cancel.ts measures how fast that is.
 */

let run: LongRun;
beforeAll(async () => {
  run = await openLongRun(await paint({ width: 16, height: 16 }));
});
afterAll(() => run.close());

const count = ({ activities }: PlayedRun, what: string) => activities.filter((each) => each.what === what).length;

/** Returns the rows of the inner runs of a row, of those in turn, and so on. */
function listInner(rows: readonly LedgerRow[], parent: LedgerRow): LedgerRow[] {
  const own = rows.filter((row) => row['parent_id'] === parent.id);
  return own.flatMap((row) => [row, ...listInner(rows, row)]);
}

const isImage = (row: LedgerRow): boolean => row['requested_model'] === 'painter/m';

function checkMoney(row: LedgerRow): void {
  if (isImage(row)) return;
  expect(row.cost_nano_usd).toBe(Number(row['input_tokens']) * 1000 + Number(row['output_tokens']) * 10_000);
}

/** A run whose client has disconnected. */
interface LeftRun extends PlayedRun {
  session: string;
  index: number;
}

async function leaveAt(wire: LongRunWire, index: number): Promise<LeftRun> {
  const session = newSession();
  const played = await run.play(wire, session, index);
  expect(played.leftAt, `event ${index}`).toBeDefined();
  return { ...played, session, index };
}

/** Checks that the ledger has what a run has used. */
function checkRows(rows: readonly LedgerRow[], played: LeftRun): void {
  const own = rows.filter((row) => row['session_id'] === played.session);
  expect(own, `rows of event ${played.index}`).toHaveLength(1);
  const [row] = own;
  if (played.types.at(-1) === 'response.completed') expect(row!.outcome).toBe('completed');
  else expect(`${row!.outcome} ${row!.status}`).toMatch(/^(cancelled 499|completed 200)$/);
  // All turns but the last one have ended regularly.
  const turns = count(played, 'outer model');
  expect(Number(row!['output_tokens'])).toBeGreaterThanOrEqual((turns - 1) * defaultCounts.output);

  const inner = listInner(rows, row!);
  const models = inner.filter((each) => !isImage(each)).length;
  const requests = count(played, 'inner model');
  expect(models).toBeLessThanOrEqual(5);
  expect(models).toBeGreaterThanOrEqual(requests > 2 ? requests - 1 : Math.min(requests, 1)); // two of a subagent
  expect(inner.length - models).toBeGreaterThanOrEqual(count(played, 'image'));
  for (const each of [row!, ...inner]) checkMoney(each);
  for (const each of inner) expect(each.outcome).toMatch(/^(cancelled|completed)$/);
}

const SAMPLES = 16;

describe.each(isFull ? longRunWires : (['openai-chat'] as const))('a long run on %s', (wire) => {
  it(
    'ends everything if the client disconnects at any event',
    async () => {
      const whole = await run.play(wire, newSession());
      expect(whole.types.at(-1)).toBe('response.completed');
      const kinds = ['outer model', 'inner model', 'image', 'search', 'mcp', 'tool'];
      expect(kinds.map((what) => count(whole, what))).toEqual([5, 6, 1, 1, 1, 2]);
      const last = whole.events - 1;
      const isComplete = isFull && wire === 'openai-chat';
      const step = isComplete ? 1 : isFull ? 3 : last / SAMPLES;
      const aborted = new Set<string>();
      const left: LeftRun[] = [];
      for (let index = seededRandom(testSeed)() * Math.min(step, last); index < last; index += step) {
        const played = await leaveAt(wire, Math.floor(index));
        left.push(played);
        for (const { what, ended } of played.activities) if ((await ended).how === 'aborted') aborted.add(what);
      }
      await vi.waitFor(() => {
        const rows = readRows(run.gateway.dataDir);
        for (const played of left) checkRows(rows, played);
      });
      expect(aborted).toContain('outer model');
      if (isComplete) expect([...aborted].toSorted()).toEqual(kinds.toSorted());
    },
    isFull ? 600_000 : 120_000,
  );
});
