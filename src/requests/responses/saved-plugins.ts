import type { PluginSetting } from '../../domain/request.ts';
import type { SavedPlugin } from '../../domain/request-defaults.ts';

/**
 * Adds the plugins that a workspace has saved to those of a request. A request that names a plugin turns it on and
 * replaces single fields of the saved setting, unless the setting prevents that.
 *
 * @param named of the request; its entries keep their places
 * @returns the plugins of the request, and the ids of those that come from the workspace, wholly or in part
 * @see docs/reference/plugins.md#defaults-of-a-workspace
 */
export function addSavedPlugins(
  named: readonly PluginSetting[],
  saved: readonly SavedPlugin[],
): { plugins: PluginSetting[]; applied: string[] } {
  const plugins = [...named];
  const applied: string[] = [];
  for (const { prevent_overrides: isFinal, ...setting } of saved) {
    const at = plugins.findLastIndex(({ id }) => id === setting.id);
    const own = plugins[at];
    const merged = { ...setting, ...own, enabled: own?.enabled ?? true };
    if (!own) plugins.push(setting);
    else plugins[at] = isFinal ? setting : merged;
    const isUsed = !own || isFinal || Object.keys(setting).some((field) => !(field in own) && field !== 'enabled');
    if (isUsed) applied.push(setting.id);
  }
  return { plugins, applied };
}
