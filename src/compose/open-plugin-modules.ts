import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import { type LoadedPlugins, loadPluginModules } from './load-plugin-modules.ts';

/**
 * Loads the operator's plugins. With `keepsProcess`, and while there are any, a rejected promise that no code waits for is
 * logged: it would otherwise end the process, with all its requests.
 *
 * @param resources removes the listener at the end
 * @throws {Error} that names the module and the problem, for the operator
 */
export async function openPluginModules(
  { modules, log, keepsProcess }: { modules: readonly string[]; log: WriteLog; keepsProcess: boolean },
  resources: AsyncDisposableStack,
): Promise<LoadedPlugins> {
  if (keepsProcess && modules.length > 0) {
    const listener = (error: unknown): void => log('plugin promise rejected', { err: error });
    process.on('unhandledRejection', listener);
    resources.defer(() => void process.off('unhandledRejection', listener));
  }
  return loadPluginModules(modules, (plugin, error, generationId) =>
    log('plugin failed', { plugin, generation_id: generationId, err: error }),
  );
}
