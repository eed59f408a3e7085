import type { EndpointFacts } from '../domain/endpoint.ts';

/** What the choice needs of an endpoint. `provider.wire` tells the simulator from others. */
type Candidate = Pick<EndpointFacts, 'model' | 'generatesText' | 'capabilities' | 'pricing' | 'workspace'> & {
  readonly provider: { readonly wire: { readonly id: string } };
};

/** Names of models that generate no text. Only endpoints whose outputs are unknown are compared, such as local ones. */
const otherModels = /embed|rerank|whisper|speech|transcri|tts|moderation|image|dall-e|diffusion|\bbge\b|\be5\b/i;

/** Names that need no quoting in a shell and in JSON. */
const plainName = /^[\w./:@+~*-]+$/;

/**
 * Returns a model for a first request to `POST /responses`: the first one that the configuration names, else the cheapest one
 * of the catalog, else the simulator, else a pattern with `NAME-OF-A-MODEL`.
 *
 * @param named slugs of the configuration, in its order
 * @returns undefined if no endpoint generates text
 */
export function findTextModel(endpoints: readonly Candidate[], named: readonly string[]): string | undefined {
  const candidates = endpoints.filter(writesText);
  const isSimulated = ({ provider }: Candidate) => provider.wire.id === 'simulator';
  const [real, simulated] = [candidates.filter((one) => !isSimulated(one)), candidates.filter(isSimulated)];
  const known = real.filter(({ model }) => !model.includes('*'));
  const ofConfig = named.find((slug) => known.some(({ model }) => model === slug));
  if (ofConfig !== undefined) return ofConfig;
  const [cheapest] = known.toSorted((a, b) => priceOf(a) - priceOf(b));
  if (cheapest) return cheapest.model;
  const names = simulated.map(({ model }) => model.replace('simulator/*', 'simulator/echo'));
  if (names.length > 0) return names.find((model) => model === 'simulator/echo') ?? names[0];
  return real[0]?.model.replace('*', 'NAME-OF-A-MODEL');
}

function writesText({ model, generatesText, capabilities: { output }, workspace }: Candidate): boolean {
  if (!generatesText || workspace !== undefined || !plainName.test(model)) return false;
  return output === undefined ? !otherModels.test(model) : output.length === 0 || output.includes('text');
}

const priceOf = ({ pricing }: Candidate): number => pricing?.promptNanoUsdPerMillion || Number.POSITIVE_INFINITY;
