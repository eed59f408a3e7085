import type { Config, ProviderConfig } from './schema.ts';

const models = ['simulator/echo', 'simulator/writer', 'simulator/reasoner', 'simulator/image'];

/** Answers if no provider is configured, so that the first request works offline. */
export const simulatorProvider: ProviderConfig = {
  id: 'simulator',
  name: 'Simulator',
  wire: 'simulator',
  models: [{ model: 'simulator/*' }],
};

/**
 * Returns the simulator beside other providers: it answers its own slugs, so that the first example still works after a
 * provider is added, but it is in no list and no router chooses it. choice 96
 *
 * @returns undefined if the operator turned it off, or configured a provider of that name or wire
 */
export function findUnlistedSimulator({ catalog, providers }: Config): ProviderConfig | undefined {
  if (!catalog.simulator || providers.some(({ id, wire }) => id === 'simulator' || wire === 'simulator'))
    return undefined;
  const taken = new Set(providers.flatMap((provider) => provider.models.map(({ model }) => model.toLowerCase())));
  const free = models.filter((model) => !taken.has(model));
  return { ...simulatorProvider, models: free.map((model) => ({ model, pricing: { prompt: 0, completion: 0 } })) };
}
