import { findFusionSlug } from '../../domain/fusion.ts';
import { findSetting, type ResponseRequest } from '../../domain/request.ts';

/** @returns the path of the first model that is a slug of fusion; undefined: there is none */
export function findFusion({ model, models }: Pick<ResponseRequest, 'model' | 'models'>): string | undefined {
  if (findFusionSlug({ ...(model !== undefined && { model }) }) !== undefined) return 'model';
  const index = models?.findIndex((slug) => findFusionSlug({ model: slug }) !== undefined) ?? -1;
  return index === -1 ? undefined : `models[${index}]`;
}

/**
 * Turns the plugin `fusion` on in a request to `router/fusion` or `router/fusion-flash`. An entry with `enabled: false`
 * loses its settings: the router runs with its defaults.
 *
 * @see docs/reference/routers.md#fusion
 */
export function readFusion(request: ResponseRequest): void {
  if (findFusionSlug(request) === undefined || findSetting(request, 'fusion')) return;
  request.plugins = [...(request.plugins ?? []).filter(({ id }) => id !== 'fusion'), { id: 'fusion' }];
}
