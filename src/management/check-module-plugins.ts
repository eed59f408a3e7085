import { invalidRequest } from '../domain/errors.ts';
import type { ModulePlugins } from '../requests/module-plugins.ts';
import { checkPlugins, isModuleSetting } from '../requests/responses/check-plugins.ts';
import { fieldPath, Report } from '../schema/report.ts';
import type { ManagementParts } from './parts.ts';

/** Returns the operator's plugins if any of these settings may name one. Only then are their modules loaded. */
export const findModules = async (
  { loadModules }: Pick<ManagementParts, 'loadModules'>,
  settings: unknown,
): Promise<ModulePlugins | undefined> =>
  Array.isArray(settings) && settings.some(isModuleSetting) ? loadModules?.() : undefined;

/**
 * Checks saved settings of the operator's plugins. Unlike in a request, an unknown field is an error.
 *
 * @param plugins `default_plugins` of a checked body
 * @throws {GatewayError} `invalid_request`
 */
export function rejectUnknownModules(plugins: unknown, modules: ModulePlugins | undefined): void {
  if (!Array.isArray(plugins)) return;
  const report = new Report();
  checkPlugins(plugins, modules, 'default_plugins', report);
  for (const [index, setting] of plugins.entries()) {
    const fields = isModuleSetting(setting) ? modules?.get(setting.id)?.fields : undefined;
    if (!fields) continue;
    for (const field of Object.keys(setting)) {
      if (fields.has(field) || field === 'prevent_overrides') continue;
      report.add(fieldPath(`default_plugins[${index}]`, field), 'is not known here');
    }
  }
  if (report.issues.length > 0) throw invalidRequest(report.issues);
}
