import { type Sandbox, type SandboxDriver, SandboxError, type SandboxSpec } from '../sandbox.ts';
import { SimulatedSandbox } from './simulated-sandbox.ts';

/**
 * Simulates sandboxes with just-bash, a shell written in JavaScript. No command of the host runs, and no kernel isolates
 * anything: it is for demonstrations, and for systems that have no other driver.
 */
export function createSimulationDriver(): SandboxDriver {
  const running = new Set<Sandbox>();
  let isClosed = false;
  return {
    kind: 'simulation',

    async probe() {
      try {
        import.meta.resolve('just-bash');
        return undefined;
      } catch {
        return 'The package just-bash, which simulates a shell, is not installed. Run "npm install just-bash", or choose another tools.sandbox.driver.';
      }
    },

    async start(spec: SandboxSpec) {
      if (isClosed) throw new SandboxError('unavailable', 'The gateway is shutting down.');
      if (spec.network) {
        throw new SandboxError('unavailable', 'The simulated sandbox has no network. Remove network_policy.');
      }
      const sandbox = new SimulatedSandbox(spec);
      running.add(sandbox);
      sandbox.ended.addEventListener('abort', () => running.delete(sandbox), { once: true });
      return sandbox;
    },

    async removeLeftovers() {}, // threads end with their process

    async close() {
      isClosed = true;
      await Promise.all(Array.from(running, (sandbox) => sandbox.stop()));
    },
  };
}
