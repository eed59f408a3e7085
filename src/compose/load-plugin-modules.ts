import { guardPlugin, type ReportPluginFailure } from '../plugins/guard-plugin.ts';
import type { Plugin } from '../plugins/plugin.ts';
import { compileModuleSettings, type ModulePlugins, type ModuleSettings } from '../requests/module-plugins.ts';
import { pluginFields } from '../requests/responses/schema/plugins.ts';
import { loadModules } from './load-modules.ts';

/** The plugins of the operator's modules. */
export interface LoadedPlugins {
  /** In the order of the modules. */
  plugins: readonly Plugin[];
  settings: ModulePlugins;
}

const idShape = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const MAX_ID_LENGTH = 64;

/**
 * Loads the modules of `plugins.modules`.
 *
 * @param report receives the failures of their plugins
 * @throws {Error} that names the module and the problem, for the operator
 * @see docs/guides/plugins.md
 */
export async function loadPluginModules(paths: readonly string[], report: ReportPluginFailure): Promise<LoadedPlugins> {
  const plugins: Plugin[] = [];
  const settings = new Map<string, ModuleSettings>();
  for (const { path, definition } of await loadModules(paths, 'plugins.modules')) {
    const fail = (problem: string): Error => new Error(`plugins.modules: ${path}: ${problem}`);
    const problem = findProblem(definition, settings);
    if (problem !== undefined) throw fail(problem);
    const plugin = definition as unknown as Plugin; // its fields are checked above
    try {
      settings.set(plugin.id, compileModuleSettings(plugin.settings));
    } catch (error) {
      throw fail(error instanceof Error ? error.message : String(error));
    }
    plugins.push(guardPlugin(plugin, report));
  }
  return { plugins, settings };
}

/** @returns why the plugin cannot be used */
function findProblem({ id, prepare }: Record<string, unknown>, taken: ModulePlugins): string | undefined {
  if (typeof id !== 'string' || id.length > MAX_ID_LENGTH || !idShape.test(id)) {
    return '`id` must be lower-case letters, digits and single hyphens between them, at most 64 characters.';
  }
  if (pluginFields.has(id)) return `\`id\` is \`${id}\`, which a built-in plugin has; choose another name.`;
  if (taken.has(id)) return `\`id\` is \`${id}\`, which another module has.`;
  return typeof prepare === 'function' ? undefined : '`prepare` must be a function.';
}
