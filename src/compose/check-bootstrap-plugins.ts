import type { Config } from '../config/schema.ts';
import { GatewayError } from '../domain/errors.ts';
import type { SavedPlugin } from '../domain/request-defaults.ts';
import { createBodyCheck, strictBody } from '../management/check-body.ts';
import { rejectUnknownModules } from '../management/check-module-plugins.ts';
import type { ModulePlugins } from '../requests/module-plugins.ts';
import { savedPlugins } from '../requests/responses/schema/saved-plugins.ts';

const check = createBodyCheck(strictBody({ default_plugins: savedPlugins }));

/**
 * Checks the plugins that the configuration saves for its workspaces, with the schema of requests.
 *
 * @throws with a message for the operator
 */
export function checkBootstrapPlugins({ workspaces }: Config['bootstrap'], modules: ModulePlugins): void {
  for (const [index, { default_plugins: plugins }] of workspaces.entries()) {
    if (plugins === undefined) continue;
    try {
      check({ default_plugins: plugins as SavedPlugin[] });
      rejectUnknownModules(plugins, modules);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      throw new Error(`bootstrap.workspaces[${index}]: ${error.message}`, { cause: error });
    }
  }
}
