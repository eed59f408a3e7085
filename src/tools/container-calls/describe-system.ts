import type { Containers } from '../containers.ts';
import type { ContainerEnvironment } from './environment.ts';
import { readNetwork } from './environment.ts';

/** Maximum hosts that a description names. */
const MAX_SHOWN = 20;

/** Describes what runs commands, for the model. */
export function describeSystem({ kind }: Containers, environment: ContainerEnvironment | undefined): string {
  if (kind === 'simulation') {
    return 'The shell is a simulation: it has common text tools, but no compilers, no package managers and no network.';
  }
  const hosts = readNetwork(environment)?.allowedDomains ?? [];
  if (hosts.length === 0) return 'It is Linux with bash, without network.';
  if (hosts.includes('*')) return 'It is Linux with bash. Web servers can be reached.';
  const shown = hosts.slice(0, MAX_SHOWN).join(', ');
  const more = hosts.length > MAX_SHOWN ? ` and ${hosts.length - MAX_SHOWN} others` : '';
  return `It is Linux with bash. Of the network, only these hosts can be reached: ${shown}${more}.`;
}
