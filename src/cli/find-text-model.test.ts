import { expect, it } from 'vitest';
import { loadConfig } from '../config/load.ts';
import { knownProviders } from '../config/known-providers.ts';
import { findTextModel } from './find-text-model.ts';
import { listEndpoints } from './list-endpoints.ts';

type Candidate = Parameters<typeof findTextModel>[0][number];
const model = (name: string, facts: Partial<Candidate> = {}, wire = 'openai-chat'): Candidate => ({
  model: name,
  provider: { wire: { id: wire } },
  generatesText: true,
  capabilities: {},
  pricing: undefined,
  workspace: undefined,
  ...facts,
});
const echo = model('simulator/*', {}, 'simulator');
const price = (prompt: number) => ({
  pricing: { promptNanoUsdPerMillion: prompt, completionNanoUsdPerMillion: prompt },
});

it.each([
  [
    'the model of the configuration before the cheapest one',
    [model('a/b', price(9)), model('c/d', price(1))],
    ['a/b'],
    'a/b',
  ],
  ['the cheapest known one', [model('a/b', price(9)), model('c/d', price(1)), model('a/free')], [], 'c/d'],
  [
    'no model that only makes embeddings',
    [model('a/small', { generatesText: false }), model('a/b')],
    ['a/small'],
    'a/b',
  ],
  [
    'no local model with the name of one',
    [model('local/nomic-embed-text'), model('local/qwen3')],
    ['local/nomic-embed-text'],
    'local/qwen3',
  ],
  [
    'no model that only transcribes',
    [model('a/b', { capabilities: { output: ['transcription'] } }), echo],
    [],
    'simulator/echo',
  ],
  ['no model of one workspace', [model('a/b', { workspace: 'team' }), echo], [], 'simulator/echo'],
  ['no name that a shell would read', [model("a/b'c"), echo], [], 'simulator/echo'],
  ['the simulator before a pattern', [model('a/*'), echo], [], 'simulator/echo'],
  ['a pattern if there is nothing else', [model('a/*')], [], 'a/NAME-OF-A-MODEL'],
  ['none if no endpoint generates text', [model('a/b', { generatesText: false })], ['a/b'], undefined],
] as const)('chooses %s', (_, endpoints, named, expected) => {
  expect(findTextModel(endpoints, named)).toBe(expected);
});

it.each(knownProviders)('chooses a model that generates text if the key of $id is in the environment', ({
  id,
  env,
}) => {
  const keys = Object.fromEntries(env.map((name) => [name, 'key']));
  const endpoints = listEndpoints(loadConfig({ env: keys, file: null, cwd: import.meta.dirname }));
  const chosen = findTextModel(endpoints, [`${id}/*`])!;
  const [provider, name] = chosen.split('/');
  expect(name).not.toContain('*');
  const serving = endpoints.find(
    ({ model }) => model === chosen || (provider === 'simulator' && model === 'simulator/*'),
  );
  expect(serving?.generatesText, chosen).toBe(true);
});
