import type { Config } from '../config/schema.ts';
import type { SandboxDriver } from '../platform/sandbox/sandbox.ts';

/** What runs the commands of models, or why nothing can. */
export type ChosenDriver = { driver: SandboxDriver } | { problem: string };

/** Creates the driver of the configuration. Starts nothing; the driver's `probe` tells whether it works. */
export async function createSandboxDriver(config: Config, dataDir: string): Promise<ChosenDriver> {
  const { driver } = config.tools.sandbox;
  switch (driver) {
    case 'auto':
    case 'bubblewrap': {
      const { createBubblewrap } = await import('./create-bubblewrap.ts');
      return { driver: createBubblewrap({ config, dataDir }) };
    }
    case 'simulation': {
      const { createSimulationDriver } = await import('../platform/sandbox/simulation/simulation-driver.ts');
      return { driver: createSimulationDriver() };
    }
    case 'off':
      return { problem: 'The operator has switched sandboxes off (tools.sandbox.driver).' };
    default:
      return { problem: `This build has no sandbox driver ${driver} (tools.sandbox.driver), so commands cannot run.` };
  }
}
