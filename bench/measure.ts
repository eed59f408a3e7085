import { setTimeout as sleep } from 'node:timers/promises';
import { measureChat } from './chat.ts';
import { collectGarbage } from './inspector.ts';
import { measureOpenRuns, measureSteps } from './steps.ts';
import { readMemoryKb } from './processes.ts';
import { findFreePort, type Load, type Mock, runLoad, startMock, withGateway } from './rig.ts';
import { measureRounds, shapes } from './rounds.ts';
import { findMedian, Samples } from './samples.ts';
import { type Variant, baselineVariants } from './variants.ts';

/** The phases. `--phases` selects some. `soak` runs only if named, because it sends a million requests. */
export const phases = [
  'json',
  'json50',
  'sse',
  'paced',
  'half',
  'chat',
  'steps',
  'runs',
  'open',
  'start',
  'soak',
] as const;
export type Phase = (typeof phases)[number];

/** The measurements to take. */
export interface Plan {
  /** In addition to the baselines, which are always measured. */
  variants: readonly Variant[];
  phases: readonly Phase[];
  rounds: number;
  /** How many processes of each gateway share the rounds of the ratios, one after the other. */
  processes: number;
  /** Shorter windows and warm-ups: approximate results in a third of the time. */
  quick: boolean;
}

const streamsOpen = 1_000;
const soakRequests = 1_000_000;
const soakMarkRequests = 100_000;

/**
 * Takes all measurements of a plan in sequence.
 *
 * @param report prints each measurement
 */
export async function measure(plan: Plan, report: (line: string) => void): Promise<Samples> {
  const mock = await startMock();
  const samples = new Samples(report);
  await measureRounds(plan, mock, samples);
  if (plan.phases.includes('chat')) await measureChat(plan, mock, samples);
  if (plan.phases.includes('steps')) await measureSteps(plan, mock, samples);
  if (plan.phases.includes('runs')) await measureOpenRuns(plan, mock, samples);
  if (plan.phases.includes('open')) await measureOpenStreams(plan, mock, samples);
  if (plan.phases.includes('start')) await measureStarts(plan, mock, samples);
  if (plan.phases.includes('soak')) await measureSoak(plan, mock, samples);
  return samples;
}

/**
 * Measures the memory of a thousand open streams: the difference before and with them. Both are measured after a
 * garbage collection, because garbage would exceed the streams and vary.
 */
async function measureOpenStreams(plan: Plan, mock: Mock, samples: Samples): Promise<void> {
  // a stream lasts 10 s; after `spreadMs` all are open, at different ages
  const spreadMs = plan.quick ? 4_000 : 8_000;
  const load: Load = {
    size: '2k',
    stream: true,
    connections: streamsOpen,
    spreadMs,
    warmUpSeconds: spreadMs / 1_000,
    seconds: 4,
  };
  for (const variant of [...baselineVariants, ...plan.variants]) {
    await samples.attempt('open', variant, async () => {
      const inspectorPort = variant.name === 'nginx' ? undefined : await findFreePort();
      const nodeArguments = inspectorPort === undefined ? [] : [`--inspect=127.0.0.1:${inspectorPort}`];
      await withGateway(variant, mock, 50, nodeArguments, async (gateway) => {
        const readLiveKb = async () => {
          if (inspectorPort !== undefined) await collectGarbage(inspectorPort);
          return readMemoryKb(gateway.pids);
        };
        await runLoad(gateway, { ...shapes.json, connections: 32, warmUpSeconds: 0.5, seconds: 2 }, mock);
        const beforeKb = await readLiveKb();
        const loaded = runLoad(gateway, load, mock);
        const openKb: number[] = [];
        for (const ms of [spreadMs + 1_000, 700, 700]) {
          await Promise.race([sleep(ms), loaded]);
          openKb.push(await readLiveKb());
        }
        await loaded;
        const kb = (findMedian(openKb) - beforeKb) / streamsOpen;
        samples.take('openStreamKb', variant, kb);
        samples.tell('open', variant, `${kb.toFixed(1)} KB per stream`);
      });
    });
  }
}

/** Measures the first start in an empty data folder: time to the first response, and idle memory. */
async function measureStarts(plan: Plan, mock: Mock, samples: Samples): Promise<void> {
  const times = plan.quick ? 3 : 5;
  for (const variant of [...baselineVariants, ...plan.variants]) {
    await samples.attempt('start', variant, async () => {
      for (let time = 0; time < times; time++) {
        await withGateway(variant, mock, 0, [], async ({ pids, firstResponseMs }) => {
          await sleep(6_000);
          const idleMb = readMemoryKb(pids) / 1_024;
          samples.take('startMs', variant, firstResponseMs);
          samples.take('idleMb', variant, idleMb);
          samples.tell('start', variant, `${firstResponseMs.toFixed(0)} ms, ${idleMb.toFixed(1)} MB`);
        });
      }
    });
  }
}

/** Measures the memory after a million requests, and its change since the first tenth. */
async function measureSoak(plan: Plan, mock: Mock, samples: Samples): Promise<void> {
  for (const variant of plan.variants.filter((each) => each.budgeted)) {
    await samples.attempt('soak', variant, async () => {
      await withGateway(variant, mock, 0, [], async (gateway) => {
        let earlyMb: number | undefined;
        let mb = 0;
        for (let sent = 0; sent < soakRequests; ) {
          sent += (await runLoad(gateway, { ...shapes.json, warmUpSeconds: 0, seconds: 10 }, mock)).reqs;
          mb = readMemoryKb(gateway.pids) / 1_024;
          if (sent >= soakMarkRequests) earlyMb ??= mb;
          samples.tell('soak', variant, `${sent} requests, ${mb.toFixed(1)} MB`);
        }
        samples.take('soakMb', variant, mb);
        samples.take('soakPercent', variant, (mb / (earlyMb ?? mb) - 1) * 100);
      });
    });
  }
}
