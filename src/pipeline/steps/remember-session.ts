import type { Endpoint } from '../../providers/provider.ts';
import { deriveSessionKey, type StickyMemory } from '../../routing/sticky.ts';
import { buildRequest, type Run } from '../run/run.ts';
import { committedOf } from '../run/step.ts';

/**
 * Remembers the endpoint of a conversation after a success. A conversation that the caller did not name is remembered
 * only if the provider read from its cache, because other endpoints do not have that cache.
 *
 * @see docs/reference/routing.md#sessions
 */
export function rememberSession(run: Run, sticky: StickyMemory): void {
  const { error, usage, caller } = run;
  const plan = run.steps.at(-1)?.plan;
  const selected = committedOf(run)?.endpoint;
  if (!plan?.session || !selected || error) return;
  let { key } = plan.session;
  if (!key?.isExplicit) {
    if ((usage?.cachedTokens ?? 0) === 0 || !isCacheCheaper(selected)) return;
    key ??= deriveSessionKey(buildRequest(run));
  }
  const slug = plan.choiceOf(selected)?.router ?? selected.model;
  if (key) sticky.remember(caller.workspaceId, slug, key, selected.id, selected.model.toLowerCase());
}

const isCacheCheaper = ({ pricing }: Endpoint): boolean =>
  pricing?.cacheReadNanoUsdPerMillion !== undefined &&
  pricing.cacheReadNanoUsdPerMillion < pricing.promptNanoUsdPerMillion;
