import { isSmallContext } from '../domain/compression.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import { type RequestSettings, switchOf } from '../domain/request.ts';
import type { Needs } from './needs.ts';

/**
 * Lists the plugins that endpoints need although the request does not name them. A caller cannot turn off the
 * moderation that a provider demands.
 *
 * @returns undefined if there are none
 * @see docs/reference/plugins.md#how-a-plugin-runs
 */
export function listNeededPlugins(
  endpoints: readonly EndpointFacts[],
  request: RequestSettings,
  needs: Pick<Needs, 'parsesFiles'>,
): readonly string[] | undefined {
  let needed: string[] | undefined = needs.parsesFiles ? ['file-parser'] : undefined;
  for (let at = 0; at < endpoints.length; at++) {
    const endpoint = endpoints[at]!;
    if (endpoint.isModerated && !needed?.includes('moderation')) needed = [...(needed ?? []), 'moderation'];
    if (!isSmallContext(endpoint) || needed?.includes('context-compression')) continue;
    if (switchOf(request, 'context-compression') === undefined) needed = [...(needed ?? []), 'context-compression'];
  }
  return needed;
}
