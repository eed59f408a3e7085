import { FUSION_TOOL, findFusionSlug, type PanelName, presetOfSlug } from '../domain/fusion.ts';
import { findSetting, type ResponseRequest } from '../domain/request.ts';
import type { StageRecord } from '../domain/router-metadata.ts';

/** Settings that decide the panel of a request. */
export interface PanelView {
  readonly panels: Readonly<Record<string, { readonly models: readonly string[] }>>;
  /** Whether there is a route to a model. */
  readonly hasRoute: (model: string) => boolean;
}

interface PanelFields {
  preset?: PanelName;
  analysis_models?: readonly string[];
}

/** Returns the panel that a request can consult, and its models without a route; empty: the request has no panel. */
export function describePanel(request: ResponseRequest, { panels, hasRoute }: PanelView): StageRecord[] {
  const setting = findSetting(request, 'fusion');
  const tool = request.tools?.find(({ type }) => type === FUSION_TOOL) as { parameters?: PanelFields } | undefined;
  if (!setting && !tool) return [];
  const slug = findFusionSlug(request);
  const { preset = presetOfSlug(slug) ?? 'quality', analysis_models: named }: PanelFields = {
    ...setting,
    ...tool?.parameters,
  };
  const models = named ?? panels[preset]!.models; // the schema has checked the preset
  const shown = slug === undefined ? { analysis_models: models } : undefined; // the stage of the router has them
  const missing = models.filter((model) => !hasRoute(model));
  return [{ type: 'plugin', name: 'panel', data: { ...shown, without_route: missing } }];
}
