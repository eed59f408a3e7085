import { matchModels } from '../patterns.ts';
import { modelNotFound, noCandidates } from '../refusals.ts';
import type { LatestAlias, Router, RouterContext } from './router.ts';

/** `~author/family-latest`: the newest model of a family. @see docs/reference/routers.md#latest */
export const latestRouter: Router = {
  strategy: 'latest',
  takes: (slug) => slug.startsWith('~'),
  plan({ slug, settings, routingContext, isRoutable }) {
    const alias = settings.latest.find((each) => each.alias === slug.model.toLowerCase());
    if (!alias) throw modelNotFound(slug.model);
    const family = listFamily(alias, routingContext);
    const target = family.find(isRoutable) ?? family[0];
    if (!target) {
      const message = `This gateway has no model of the family ${alias.alias} (${alias.pattern}).`;
      throw noCandidates(slug.model, message, {}, 'no_endpoints');
    }
    const stage = { type: 'router', name: 'latest', data: { alias: alias.alias, resolved_to: target } };
    return { models: [target], stage };
  },
};

/** A separate catalog entry. Other colons are part of a name: `llama3.2:3b`. */
const variant = /:(?:free|batch|thinking|extended)$/;

/** Returns the visible models of a family, newest first. Models of the same day are in descending order of name. */
export function listFamily(
  { pattern, exclude = [] }: LatestAlias,
  { catalog }: Pick<RouterContext, 'catalog'>,
): string[] {
  const wanted = matchModels([pattern], catalog.models);
  const unwanted = matchModels(exclude, catalog.models);
  return catalog.models
    .filter(({ id, hidden }) => !hidden && wanted.has(id) && !unwanted.has(id) && !variant.test(id))
    .toSorted((a, b) => b.created - a.created || (a.id < b.id ? 1 : -1))
    .map(({ id }) => id);
}
