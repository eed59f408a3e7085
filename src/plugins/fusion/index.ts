import { type Issue, invalidRequest } from '../../domain/errors.ts';
import {
  FUSION_TOOL,
  findFusionSlug,
  type FusionPreset,
  type FusionSettings,
  presetOfSlug,
} from '../../domain/fusion.ts';
import type { Plugin, PluginRun, Tool } from '../plugin.ts';

/** Parts of the gateway that the plugin needs. */
export interface FusionPluginPorts {
  readFusionSettings(): FusionSettings;
  /** Whether the caller of a run has a route to a model. */
  hasRoute(run: PluginRun, model: string): boolean;
  /** Returns the problems of the tools that a panel gets, with paths such as `[0].type`. */
  checkPanelTools(tools: readonly unknown[]): readonly Issue[];
}

/**
 * Adds the tool `router:fusion` to a request, with its settings as parameters. The parameters of the request's own tool
 * win, field by field.
 *
 * @see docs/reference/plugins.md#fusion
 */
export const createFusion = ({ readFusionSettings, hasRoute, checkPanelTools }: FusionPluginPorts): Plugin => ({
  id: 'fusion',
  prepare(run, setting) {
    if (!setting) return undefined;
    const { request } = run;
    const { id: _, enabled: __, ...given } = setting;
    checkTools(request.plugins ?? [], given['tools'], checkPanelTools);
    const slug = findFusionSlug(request);
    const preset = (given['preset'] as FusionPreset | undefined) ?? presetOfSlug(slug);
    const parameters: Record<string, unknown> = preset === undefined ? given : { ...given, preset };
    if (slug === undefined && given['model'] === undefined) {
      const { model } = readFusionSettings().panels[preset ?? 'quality'];
      if (hasRoute(run, model)) parameters['model'] = model;
    }
    const { tools = [] } = request;
    const own = tools.find(({ type }) => type === FUSION_TOOL) as { parameters?: object } | undefined;
    const tool: Tool = { type: FUSION_TOOL, parameters: { ...parameters, ...own?.parameters } };
    request.tools = own ? tools.map((other) => (other.type === FUSION_TOOL ? tool : other)) : [...tools, tool];
    if (slug === undefined) run.stages.push({ type: 'plugin', name: 'fusion', data: parameters });
    return undefined;
  },
});

/** @throws {GatewayError} `invalid_request` with the paths of the plugin */
function checkTools(
  plugins: readonly { id: string }[],
  tools: unknown,
  check: FusionPluginPorts['checkPanelTools'],
): void {
  const issues = Array.isArray(tools) ? check(tools) : [];
  if (issues.length === 0) return;
  const index = plugins.findLastIndex(({ id }) => id === 'fusion');
  throw invalidRequest(issues.map(({ path, message }) => ({ path: `plugins[${index}].tools${path}`, message })));
}
