import type { Config, ProviderConfig } from './schema.ts';

const models = ['echo', 'writer', 'reasoner', 'image', 'embedding', 'rerank'].map((name) => `simulator/${name}`);

/** The provider if none is configured, so that the first request works offline. */
export const simulatorProvider: ProviderConfig = {
  id: 'simulator',
  name: 'Simulator',
  wire: 'simulator',
  models: [{ model: 'simulator/*' }],
};

/**
 * Returns the simulator for use beside other providers. It serves its own slugs, so that the first example still works
 * after a provider is added. No list contains it and no router chooses it. choice 96
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
