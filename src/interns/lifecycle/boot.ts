import type { Intern } from '../../domain/intern.ts';
import type { InternWork } from './lifecycle-parts.ts';

/** Returns the host name of an intern. Names are unique for a member only, so it has a part of the id. */
export const nameHost = ({ name, id }: Pick<Intern, 'name' | 'id'>, domain: string): string =>
  `${name}-${id.slice(0, 8)}.${domain}`;

/**
 * Starts the runtime of an intern in four steps.
 *
 * @param onStep called before each step, with its number from 1
 * @returns where the runtime accepts requests
 * @throws the failure of a step
 */
export async function bootIntern(
  { parts, job }: InternWork,
  intern: Intern,
  { signal, onStep }: { signal: AbortSignal; onStep: (step: number) => Promise<void> },
): Promise<string> {
  const { runtime, vaults, credentials } = parts;
  await onStep(1);
  const { id: internId, vaultId, workspaceId } = intern;
  if (!intern.hasVault) await vaults.create({ vaultId, internId, workspaceId });
  const issued = await credentials.issue(intern, job.lease);
  signal.throwIfAborted();
  await onStep(2);
  await runtime.prepareHome(intern, signal);
  signal.throwIfAborted();
  await onStep(3);
  const { address } = await runtime.start(intern, issued, signal);
  signal.throwIfAborted();
  await onStep(4);
  const problem = await runtime.checkHealth(intern, signal);
  if (problem !== undefined) throw new Error(problem);
  return address;
}
