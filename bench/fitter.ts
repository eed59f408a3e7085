/**
 * Measures the cost of the rules of providers per request: writing the 2 KB request of the rig with the rules of an
 * endpoint, minus the same without them. Without network, in one process. The budget is 3 µs if no rule changes
 * anything, and 10 µs if ten do.
 *
 *     node bench/fitter.ts              µs of CPU, the difference of the best rounds
 *     node bench/fitter.ts --rounds 40
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { ResponseRequest } from '../src/domain/request.ts';
import { wires } from '../src/providers/index.ts';
import { listRuleSets, resolveSettings } from '../src/providers/rules/resolve.ts';
import { getTextWire } from '../src/providers/text-wire.ts';
import { readRequest } from '../src/requests/responses/request.ts';
import { bodyFile, writeBodies } from './bodies.ts';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '20' } } });
const rounds = Number(options.rounds);
const TIMES = 2000;

const folder = mkdtempSync(join(tmpdir(), 'headgate-fitter-'));
writeBodies(folder);
const plain = JSON.parse(readFileSync(bodyFile(folder, 'slug', '2k', false), 'utf8')) as Record<string, unknown>;
rmSync(folder, { recursive: true });

const call = (id: string) => [
  { type: 'function_call', call_id: id, name: 'lookup', arguments: '{"order":7}' },
  { type: 'function_call_output', call_id: id, output: 'shipped' },
];
/** A request in which Mistral refuses ten things. */
const refused: Record<string, unknown> = {
  ...plain,
  input: [
    { role: 'user', content: 'Where is my order?' },
    { role: 'assistant', content: 'I look.' },
    ...call('functions.lookup:0'),
    { role: 'user', content: 'And the other one?' },
    ...call('functions.lookup:1'),
    ...call('functions.lookup:2'),
    { role: 'assistant', content: 'Both are' },
  ],
  tools: [
    {
      type: 'function',
      name: 'lookup',
      strict: true,
      parameters: { type: 'object', properties: { order: { type: 'integer', minimum: 1 } }, required: ['order'] },
    },
    { type: 'function', name: 'list_all', parameters: { type: 'object' } },
  ],
  seed: 7,
  top_k: 40,
  frequency_penalty: 3,
  max_output_tokens: 500_000,
  reasoning: { effort: 'low' },
  tool_choice: { type: 'function', name: 'lookup' },
};

const cases = [
  { wire: 'openai-chat', provider: 'openai', host: 'api.openai.com', model: 'gpt-4o', body: plain },
  { wire: 'openai-chat', provider: 'mistral', host: 'api.mistral.ai', model: 'mistral-large-latest', body: plain },
  { wire: 'openai-chat', provider: 'groq', host: 'api.groq.com', model: 'llama-3.3-70b-versatile', body: plain },
  { wire: 'openai-responses', provider: 'openai', host: 'api.openai.com', model: 'gpt-5-mini', body: plain },
  {
    wire: 'anthropic-messages',
    provider: 'anthropic',
    host: 'api.anthropic.com',
    model: 'claude-sonnet-4-5',
    body: plain,
  },
  {
    wire: 'gemini',
    provider: 'gemini',
    host: 'generativelanguage.googleapis.com',
    model: 'gemini-2.5-flash',
    body: plain,
  },
  { wire: 'openai-chat', provider: 'mistral', host: 'api.mistral.ai', model: 'mistral-large-latest', body: refused },
  { wire: 'openai-chat', provider: 'groq', host: 'api.groq.com', model: 'qwen/qwen3-32b', body: refused },
  {
    wire: 'anthropic-messages',
    provider: 'anthropic',
    host: 'api.anthropic.com',
    model: 'claude-opus-4-7',
    body: refused,
  },
  {
    wire: 'gemini',
    provider: 'gemini',
    host: 'generativelanguage.googleapis.com',
    model: 'gemini-2.5-flash',
    body: refused,
  },
];

/** Returns CPU time of one call in µs. */
function measureOnce(work: () => unknown): number {
  const before = process.cpuUsage();
  for (let count = 0; count < TIMES; count++) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / TIMES;
}

const lines = cases.map(({ body, ...place }) => {
  const wire = getTextWire(wires.get(place.wire)!);
  const { request } = readRequest(structuredClone(body), {}) as { request: ResponseRequest };
  const rules = listRuleSets(place).flatMap((set) => set.rules).length;
  const settings = [Object.freeze({}), Object.freeze(resolveSettings(place, {}))] as const;
  const write = (dialect: Readonly<Record<string, unknown>>) =>
    wire.writeRequest(request, { endpoint: 'm at P', upstreamModel: place.model, stream: true, dialect });
  const { dropped, adapted = [] } = write(settings[1]);
  const best = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round <= rounds; round++) {
    for (const which of [0, 1] as const) {
      const spent = measureOnce(() => write(settings[which]));
      if (round > 0) best[which] = Math.min(best[which]!, spent); // the first one warms up
    }
  }
  const [without, withRules] = best as [number, number];
  const cost = (withRules - without).toFixed(1);
  const changes = [...dropped, ...adapted];
  return `| ${place.model} (${place.wire}) | ${rules} | ${changes.length} | ${without.toFixed(1)} µs | ${cost} µs |`;
});
process.stdout.write(
  `| Endpoint | rules | notes | write without rules | cost of the rules |\n|---|---|---|---|---|\n${lines.join('\n')}\n`,
);
