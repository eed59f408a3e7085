import { findFusionSlug } from '../../domain/fusion.ts';
import { findSetting, type ResponseRequest } from '../../domain/request.ts';

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
