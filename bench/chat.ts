import type { BodyApi } from './bodies.ts';
import type { Plan } from './measure.ts';
import { type Gateway, type LoadResult, type Mock, runLoad, withGateway } from './rig.ts';
import { shapes } from './rounds.ts';
import { type Figure, type Samples, writeMicroseconds } from './samples.ts';

/* What the other APIs cost beside `POST /responses`, for the same conversation at the same gateway. */

interface Comparison {
  api: Exclude<BodyApi, 'responses'>;
  shape: 'json' | 'sse';
  figure: Figure;
}

const comparisons: readonly Comparison[] = [
  { api: 'chat', shape: 'json', figure: 'chatRequest' },
  { api: 'chat', shape: 'sse', figure: 'chatEvent' },
  { api: 'messages', shape: 'json', figure: 'messagesRequest' },
  { api: 'messages', shape: 'sse', figure: 'messagesEvent' },
];

/**
 * Measures the CPU time of a request, and of an event that the client receives, over `/chat/completions` and `/messages`. Each window
 * is between two of `/responses`, and the ratio refers to their mean.
 */
export async function measureChat(plan: Plan, mock: Mock, samples: Samples): Promise<void> {
  for (const variant of plan.variants.filter(({ budgeted }) => budgeted)) {
    await samples.attempt('chat', variant, async () => {
      await withGateway(variant, mock, 0, [], async (gateway) => {
        for (let turn = 0; turn < 3; turn++) {
          for (const { api, shape } of comparisons) {
            await measureWindow(gateway, shape, 'responses', plan.quick ? 1 : 2, mock);
            await measureWindow(gateway, shape, api, plan.quick ? 1 : 2, mock);
          }
        }
        for (let round = 0; round < plan.rounds * 2; round++) {
          for (const { api, shape, figure } of comparisons) {
            const readCost = (result: LoadResult) => (shape === 'sse' ? result.cpu_us_event : result.cpu_us_req);
            const before = await measureWindow(gateway, shape, 'responses', 1.5, mock);
            const own = await measureWindow(gateway, shape, api, 2.2, mock);
            const after = await measureWindow(gateway, shape, 'responses', 1.5, mock);
            const ratio = readCost(own) / ((readCost(before) + readCost(after)) / 2);
            samples.foreignCpuPercent.push(Math.max(...[before, own, after].map((each) => each.foreign_cpu_pct)));
            samples.take(figure, variant, ratio);
            const costs = [own, before, after].map((each) => writeMicroseconds(readCost(each)));
            const detail = `${costs[0]}, /responses ${costs[1]} and ${costs[2]}`;
            samples.tell('chat', variant, `round ${round + 1}: ${api} ${shape} ${ratio.toFixed(2)} × (${detail})`);
          }
        }
      });
    });
  }
}

function measureWindow(
  gateway: Gateway,
  shape: 'json' | 'sse',
  api: BodyApi,
  seconds: number,
  mock: Mock,
): Promise<LoadResult> {
  const { settleSeconds, ...load } = shapes[shape];
  return runLoad(gateway, { ...load, api, warmUpSeconds: settleSeconds, seconds }, mock);
}
