import { isObject, findKinds } from '../../schema/by-kind.ts';
import { explainUnknownKind } from '../../schema/explain-issues.ts';
import type { Report } from '../../schema/report.ts';
import type { ModulePlugins } from '../module-plugins.ts';
import { pluginFields, pluginSetting } from './schema/plugins.ts';

const kinds = findKinds(pluginSetting)!; // it is made by `byKind`

/**
 * Checks the settings of plugins that the interface does not have: they must be those of the operator's modules. Their
 * schema accepts any id, because the modules are known only at run time.
 *
 * @param plugins of a body, checked or not
 */
export function checkPlugins(plugins: unknown, modules: ModulePlugins | undefined, path: string, report: Report): void {
  if (!Array.isArray(plugins)) return;
  for (const [index, setting] of plugins.entries()) {
    if (!isModuleSetting(setting)) continue;
    const place = `${path}[${index}]`;
    const module = modules?.get(setting.id);
    if (module) module.check(setting, place, report);
    else explainUnknownKind({ ...kinds, schemas: withModules(modules) }, setting.id, `${place}.id`, report);
  }
}

/** Whether an entry of `plugins` names no plugin of the interface. */
export const isModuleSetting = (setting: unknown): setting is { id: string; [field: string]: unknown } =>
  isObject(setting) && typeof setting['id'] === 'string' && !pluginFields.has(setting['id']);

const withModules = (modules: ModulePlugins | undefined) =>
  new Map([...kinds.schemas, ...[...(modules?.keys() ?? [])].map((id) => [id, {}] as const)]);
