import type { EndpointFacts } from '../../domain/endpoint.ts';
import { imageLinesOf } from '../../metering/image-cost.ts';
import { isFree } from '../../metering/price.ts';
import { supports } from '../needs.ts';
import { noCandidates } from '../refusals.ts';
import { matchesOutputs, type Router } from './router.ts';

/** Maximum number of models after the first. */
const FALLBACKS = 2;

/** `router/free`: any free model that can serve the request. @see docs/reference/routers.md#free */
export const freeRouter: Router = {
  strategy: 'free',
  takes: (slug) => slug === 'router/free',
  plan({ needs, remembered, routingContext, allowed }) {
    const required = needs.parameters.filter((name) => name === 'tools' || name === 'structured_outputs');
    const canServe = (endpoint: EndpointFacts) =>
      isFree(endpoint.pricing) &&
      !imageLinesOf(endpoint) &&
      required.every((name) => supports(endpoint, name) !== false);
    const pool = routingContext.catalog.choices
      .filter((model) => matchesOutputs(model, needs) && allowed(model.id).some(canServe))
      .map(({ id }) => id);
    if (pool.length === 0) {
      throw noCandidates('router/free', 'No free model of this gateway can serve this request.');
    }
    const drawn = draw(pool, FALLBACKS + 1, routingContext.random);
    const models =
      remembered !== undefined && pool.includes(remembered)
        ? [remembered, ...drawn.filter((id) => id !== remembered)].slice(0, FALLBACKS + 1)
        : drawn;
    const keep = (endpoint: EndpointFacts) =>
      canServe(endpoint) ? undefined : { code: 'price', reason: 'is not free, or does not support the request' };
    const data = { resolved_to: models[0], fallback_models: models.slice(1), pool: pool.length };
    return { models, stage: { type: 'router', name: 'free', data }, keep };
  },
};

/** Draws models at random, each at most once. */
function draw(pool: readonly string[], count: number, random: () => number): string[] {
  const left = [...pool];
  const drawn: string[] = [];
  while (drawn.length < count && left.length > 0) {
    drawn.push(...left.splice(Math.floor(random() * left.length), 1));
  }
  return drawn;
}
