/**
 * Measures the cost of a plan: a plain slug with one endpoint and with five, a request with tools and a session,
 * preferences over 3,000 endpoints, and the auto router over 3,000 endpoints with 1,024 patterns.
 *
 *     node bench/plan.ts              µs, best of the rounds
 *     node bench/plan.ts --rounds 20
 */
import { parseArgs } from 'node:util';
import { createCatalog } from '../src/catalog/catalog.ts';
import { describeModel } from '../src/catalog/describe-model.ts';
import type { Model } from '../src/domain/endpoint.ts';
import type { ResponseRequest } from '../src/domain/request.ts';
import { bareEndpoint, type Endpoint, type Provider } from '../src/providers/provider.ts';
import { planRoute } from '../src/routing/plan-route.ts';
import { createRoutingContext } from '../src/routing/routing-context.ts';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '8' } } });
const rounds = Number(options.rounds);

const authors = 20;
const modelsEach = 30;
const providersEach = 5;

function makeEndpoint(model: string, number: number): Endpoint {
  const id = `provider-${number}`;
  return {
    ...bareEndpoint({ id, name: `Provider ${number}` } as Provider, model, model),
    pricing: { promptNanoUsdPerMillion: 1e8 * (1 + number), completionNanoUsdPerMillion: 4e8 * (1 + number) },
    contextLength: 200_000,
    maxOutputTokens: 64_000,
    parameters: new Set(['temperature', 'top_p', 'tools', 'tool_choice', 'structured_outputs', 'max_tokens']),
    capabilities: { input: ['text', 'image'], output: ['text'] },
    tier: 'default',
  };
}

const endpoints: Endpoint[] = [];
const models = new Map<string, Model>();
for (let author = 0; author < authors; author++) {
  for (let number = 0; number < modelsEach; number++) {
    const id = `author-${author}/model-${number}`;
    models.set(id, describeModel({ id, created: '2026-01-01', context_length: 200_000 }));
    for (let provider = 0; provider < providersEach; provider++) endpoints.push(makeEndpoint(id, provider));
  }
}
endpoints.push(makeEndpoint('alone/one', 0));
const world = createRoutingContext(createCatalog(endpoints, models), { seed: 1 });
for (let provider = 0; provider < providersEach; provider++) {
  const id = `author-1/model-1@provider-${provider}`;
  for (let count = 0; count < 300; count++) {
    world.health.record(id, {
      atMs: Date.now(),
      error: undefined,
      firstOutputMs: count,
      durationMs: 1000,
      outputTokens: 50,
    });
  }
}

const input = [{ type: 'message', role: 'user', content: 'x'.repeat(1500) }];
const make = (fields: object): ResponseRequest => ({ input, ...fields }) as ResponseRequest;
const tools = [{ type: 'function', name: 'f', description: 'd', parameters: { type: 'object', properties: {} } }];
const all = [...models.keys()];
const patterns = Array.from({ length: 1024 }, (_, index) =>
  index % 3 === 0
    ? all[index % all.length]!
    : index % 3 === 1
      ? `author-${index % authors}/model-${index % 7}*`
      : `*/model-${index % modelsEach}`,
);
let different = 0;
const fresh = () => [...patterns.slice(1), `author-0/model-${different++}`];

const cases: Record<string, () => ResponseRequest> = {
  'a plain slug, one endpoint': () => make({ model: 'alone/one' }),
  'a plain slug, five endpoints': () => make({ model: 'author-2/model-1' }),
  'tools, five endpoints with health': () => make({ model: 'author-1/model-1', tools, session_id: 's' }),
  'preferences, 32 models': () =>
    make({
      models: all.slice(0, 32),
      provider: { sort: { by: 'price', partition: 'none' }, max_price: { prompt: 1 } },
    }),
  'preferences, 3,000 endpoints': () =>
    make({ models: all, provider: { sort: { by: 'price', partition: 'none' }, max_price: { prompt: 1 } } }),
  'auto router, 3,000 endpoints': () => make({ model: 'router/auto' }),
  'auto router, 3,000 endpoints, 1,024 patterns seen before': () =>
    make({ model: 'router/auto', plugins: [{ id: 'auto-router', allowed_models: patterns, cost_tier: 'high' }] }),
  'auto router, 3,000 endpoints, 1,024 new patterns': () =>
    make({ model: 'router/auto', plugins: [{ id: 'auto-router', allowed_models: fresh(), cost_tier: 'high' }] }),
};

for (const [name, request] of Object.entries(cases)) {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds + 2; round++) {
    const bodies = Array.from({ length: 200 }, request);
    const before = process.cpuUsage();
    const start = process.hrtime.bigint();
    let times = 0;
    while (process.hrtime.bigint() - start < 60_000_000n) {
      planRoute(bodies[times++ % 200]!, { workspaceId: 'w' }, world);
      if (name.includes('new') && times === 200) break;
    }
    const used = process.cpuUsage(before);
    if (round >= 2) best = Math.min(best, (used.user + used.system) / times);
  }
  console.log(`${best.toFixed(2).padStart(9)} µs  ${name}`);
}
