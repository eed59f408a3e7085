import { checkBootstrapPlugins } from '../../compose/check-bootstrap-plugins.ts';
import { loadPluginModules } from '../../compose/load-plugin-modules.ts';
import { loadTools } from '../../compose/load-tools.ts';
import type { Config } from '../../config/schema.ts';
import { readMessage } from '../terminal.ts';
import type { Finding } from './finding.ts';

const subject = 'plugins';

/** Loads the operator's tools, which runs the code of their modules. Returns nothing if there are none. */
export async function checkToolModules({ tools }: Config): Promise<Finding[]> {
  if (tools.modules.length === 0) return [];
  try {
    const types = (await loadTools(tools.modules)).map(({ type }) => type);
    return [{ status: 'ok', subject: 'tools', says: `loaded ${types.join(', ')}` }];
  } catch (error) {
    return [{ status: 'fail', subject: 'tools', says: readMessage(error) }];
  }
}

/**
 * Loads the operator's plugins, which runs the code of their modules, and checks the settings that the configuration
 * saves. Returns nothing if there are neither.
 */
export async function checkPluginModules({ plugins, bootstrap }: Config): Promise<Finding[]> {
  const isUsed = plugins.modules.length > 0 || bootstrap.workspaces.some((entry) => entry.default_plugins);
  if (!isUsed) return [];
  try {
    const { settings } = await loadPluginModules(plugins.modules, () => {});
    checkBootstrapPlugins(bootstrap, settings);
    const ids = [...settings.keys()];
    return [{ status: 'ok', subject, says: ids.length > 0 ? `loaded ${ids.join(', ')}` : 'saved settings are valid' }];
  } catch (error) {
    return [{ status: 'fail', subject, says: readMessage(error) }];
  }
}
