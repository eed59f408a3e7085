import { parseSlug } from '../../catalog/slug.ts';
import { GatewayError } from '../../domain/errors.ts';
import { type FusionPreset, presetOfSlug } from '../../domain/fusion.ts';
import { findSetting } from '../../domain/request.ts';
import { noCandidates } from '../refusals.ts';
import { latestRouter } from './latest.ts';
import type { Router, RouterInput } from './router.ts';

/**
 * `router/fusion` and `router/fusion-flash`: the model that writes the response. The plugin `fusion` adds the tool that
 * runs the panel.
 *
 * @see docs/reference/routers.md#fusion
 */
export const fusionRouter: Router = {
  strategy: 'fusion',
  takes: (slug) => slug === 'router/fusion' || slug === 'router/fusion-flash',
  plan(ask) {
    const slug = ask.slug.model.toLowerCase();
    const setting = findSetting(ask.request, 'fusion');
    const preset = (setting?.['preset'] as FusionPreset | undefined) ?? presetOfSlug(slug) ?? 'quality';
    const panel = ask.settings.fusion.panels[preset];
    const analysisModels = (setting?.['analysis_models'] as string[] | undefined) ?? panel.models;
    const named = setting?.['model'] as string | undefined;
    const models = findRoutable(ask, named === undefined ? [panel.model, ...panel.models] : [named]);
    if (models.length === 0) {
      const message =
        named === undefined
          ? `This gateway has no route to any model of the panel of ${slug} (${panel.models.join(', ')}). Name \`model\` and \`analysis_models\` in the plugin \`fusion\`, or set routers.fusion.panels.`
          : `The plugin \`fusion\` names ${named.slice(0, 200)} as its \`model\`, and no endpoint of it can serve this request.`;
      throw noCandidates(slug, message);
    }
    const [resolved, ...fallbacks] = models;
    const data = { resolved_to: resolved, fallback_models: fallbacks, preset, analysis_models: analysisModels };
    return { models, stage: { type: 'router', name: 'fusion', data } };
  },
};

/** Returns the models with a route, each once. An alias stands for its newest model. */
const findRoutable = (ask: RouterInput, slugs: readonly string[]): string[] => [
  ...new Set(slugs.map((slug) => resolveAlias(ask, slug)).filter((model) => ask.isRoutable(model))),
];

function resolveAlias(ask: RouterInput, slug: string): string {
  const parsed = parseSlug(slug);
  if (!latestRouter.takes(slug)) return parsed.model;
  try {
    return latestRouter.plan({ ...ask, slug: parsed }).models[0]!; // a plan has one
  } catch (error) {
    if (error instanceof GatewayError) return parsed.model; // it has no route
    throw error;
  }
}
