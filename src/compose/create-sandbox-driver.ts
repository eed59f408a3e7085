import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import type { LoadedConfig } from '../config/load.ts';
import type { SandboxDriver } from '../platform/sandbox/sandbox.ts';

/** The driver that runs the commands of models, or why there is none. */
export type ChosenDriver = { driver: SandboxDriver } | { problem: string };

/** Creates the driver of the configuration. Starts nothing; the driver's `probe` reports whether it works. */
export async function createSandboxDriver({
  config,
  dataDir,
  file,
}: Pick<LoadedConfig, 'config' | 'dataDir' | 'file'>): Promise<ChosenDriver> {
  const { driver } = config.tools.sandbox;
  switch (driver) {
    case 'auto':
    case 'bubblewrap': {
      const { createBubblewrap } = await import('./create-bubblewrap.ts');
      return { driver: createBubblewrap({ config, dataDir, file }) };
    }
    case 'simulation': {
      const { createSimulationDriver } = await import('../platform/sandbox/simulation/simulation-driver.ts');
      return { driver: createSimulationDriver() };
    }
    case 'docker': {
      const { createDockerDriver } = await import('../platform/sandbox/docker/docker-driver.ts');
      const { socket = findDockerSocket(), image, runtime } = config.tools.sandbox.docker;
      const settings = { socket, image, ...(runtime !== undefined && { runtime }) };
      return { driver: createDockerDriver(settings, nameGateway(dataDir)) };
    }
    case 'kubernetes': {
      const { createKubernetesDriver } = await import('../platform/sandbox/kubernetes/kubernetes-driver.ts');
      const { runtime_class: runtimeClass, home_medium: home, egress, ...settings } = config.tools.sandbox.kubernetes;
      const { gateway_labels: labels, gateway_namespace: namespace } = egress ?? {};
      const chosen = {
        ...settings,
        home,
        ...(runtimeClass !== undefined && { runtimeClass }),
        ...(labels && { gatewayPods: { labels, ...(namespace !== undefined && { namespace }) } }),
      };
      return { driver: createKubernetesDriver(chosen, nameGateway(dataDir)) };
    }
    case 'off':
      return { problem: 'The operator has switched sandboxes off (tools.sandbox.driver).' };
  }
}

/** `DOCKER_HOST` can name other transports, which the driver does not have. */
const findDockerSocket = (): string =>
  /^unix:\/\/(.+)/.exec(process.env.DOCKER_HOST ?? '')?.[1] ?? '/var/run/docker.sock';

/** The name of the gateway in labels. Its processes share the data folder. */
const nameGateway = (dataDir: string): string =>
  createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 16);
