import { setTimeout as sleep } from 'node:timers/promises';
import { measureUsedBytes } from './inspector.ts';
import type { Plan } from './measure.ts';
import { findFreePort, type Gateway, type Load, type Mock, RigError, runLoad, withGateway } from './rig.ts';
import type { Samples } from './samples.ts';
import type { Variant } from './variants.ts';

/* What the loop of server tools costs: runs of five steps, each with a call of `router:datetime`, next to runs of one. */

const steps = 5;
const runsOpen = 500;
const load = { stream: false, connections: 16, warmUpSeconds: 0.4 } as const;

const listLooping = ({ variants }: Plan): Variant[] => variants.filter(({ hasSteps }) => hasSteps);

/**
 * Measures the CPU time of a step: that of a run of five minus that of a run of one, divided by four. The tool needs about
 * a microsecond, and the mock has a CPU of its own. Runs of five are between two windows of runs of one.
 */
export async function measureSteps(plan: Plan, mock: Mock, samples: Samples): Promise<void> {
  for (const variant of listLooping(plan)) {
    await samples.attempt('steps', variant, async () => {
      await withGateway(variant, mock, 0, [], async (gateway) => {
        const measure = async (size: Load['size'], seconds: number) =>
          (await runLoad(gateway, { ...load, size, seconds }, mock)).cpu_us_req;
        for (let turn = 0; turn < 2; turn++) {
          for (const size of ['5steps', '1step'] as const) await measure(size, plan.quick ? 3 : 6);
        }
        let before = await measure('1step', 1.5);
        for (let round = 0; round < plan.rounds * 2; round++) {
          const whole = await measure('5steps', 2.5);
          const after = await measure('1step', 1.5);
          const one = (before + after) / 2;
          const microseconds = (whole - one) / (steps - 1);
          before = after;
          samples.take('stepMicroseconds', variant, microseconds);
          const share = (microseconds / one).toFixed(2);
          const detail = `${share} × a run of one, ${one.toFixed(0)} µs`;
          samples.tell('steps', variant, `round ${round + 1}: ${microseconds.toFixed(0)} µs per step (${detail})`);
        }
      });
    });
  }
}

/** The first requests are spread over this time. A stream lasts 10 s, so all are then open, at different ages. */
const spreadMs = 4_000;

/**
 * Measures the memory of runs that are in their fifth step, whose stream is slow: the heap and what is outside of it,
 * minus that before, both after a garbage collection. A busy machine needs seconds for a collection: the round does not count
 * if runs have ended by then.
 */
export async function measureOpenRuns(plan: Plan, mock: Mock, samples: Samples): Promise<void> {
  for (const variant of listLooping(plan)) {
    await samples.attempt('runs', variant, async () => {
      const port = await findFreePort();
      await withGateway(variant, mock, 50, [`--inspect=127.0.0.1:${port}`], async (gateway) => {
        await runLoad(gateway, { ...load, size: '5steps', seconds: 3 }, mock);
        for (let round = 0; round < plan.rounds; round++) {
          const before = await measureUsedBytes(port);
          const opened: Load = { ...load, size: '5steps', stream: true, connections: runsOpen, spreadMs, seconds: 8 };
          const loaded = runLoad(gateway, opened, mock);
          for (const end = Date.now() + 2 * spreadMs; (await countOpenStreams(gateway)) < runsOpen; await sleep(50)) {
            if (Date.now() > end) break;
          }
          const used = await measureUsedBytes(port);
          const open = await countOpenStreams(gateway);
          await loaded;
          if (open < 0.95 * runsOpen) {
            samples.tell('runs', variant, `round ${round + 1}: too slow, ${open} of ${runsOpen} runs were still open`);
            continue;
          }
          const kb = (used - before) / 1_024 / open;
          samples.take('openRunKb', variant, kb);
          samples.tell('runs', variant, `round ${round + 1}: ${kb.toFixed(1)} KB per run (${open} open)`);
        }
      });
    });
  }
}

async function countOpenStreams({ port }: Gateway): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  const count = /^headgate_open_streams (\d+)$/m.exec(await response.text())?.[1];
  if (count === undefined) throw new RigError('The gateway has no metric headgate_open_streams.');
  return Number(count);
}
