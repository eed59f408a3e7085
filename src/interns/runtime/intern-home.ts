import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { HomeSync } from '../../containers/home-sync.ts';
import { defaultLeaseTimes, type LeaseKeeper } from '../../containers/leases.ts';
import { createTimedId } from '../../domain/ids.ts';
import type { Intern } from '../../domain/intern.ts';
import type { Sandbox } from '../../platform/sandbox/sandbox.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { type ContainerRecord, INTERN_CONTAINER_PREFIX } from '../../platform/storage/ports/containers.ts';
import type { RuntimeParts } from './runtime-parts.ts';

const COMPUTE = 'intern';
const RETRY_MS = 500;

/** The id of the container that keeps the files of an intern. Callers cannot name it. choice 684 */
export const nameHome = (internId: string): string => `${INTERN_CONTAINER_PREFIX}${internId}`;

/** The right to run an intern, which one process has at a time. */
export interface HomeLease {
  container: ContainerRecord;
  token: string;
}

type Home = Pick<Intern, 'id' | 'workspaceId'>;

/** Creates the home of an intern, or finds it. */
export async function openHome(
  { store, now }: Pick<RuntimeParts, 'store' | 'now'>,
  { id, workspaceId }: Home,
): Promise<ContainerRecord> {
  const container = await callStore(() => store.useContainer(workspaceId, nameHome(id), createTimedId(''), now()));
  if (!container) throw new Error('The workspace of the intern does not exist.');
  return container;
}

/**
 * Takes the lease of a home. After a crash it waits until the lease of the process that had it has expired.
 *
 * @throws the reason of the signal
 */
export async function acquireHome(
  parts: RuntimeParts,
  leases: LeaseKeeper,
  intern: Home,
  signal: AbortSignal,
): Promise<HomeLease> {
  const { store, now } = parts;
  const token = randomUUID();
  for (;;) {
    signal.throwIfAborted();
    const container = await openHome(parts, intern);
    const startedAtMs = now();
    const times = { startedAtMs, untilMs: startedAtMs + defaultLeaseTimes.validMs };
    const lease = { token, containerKey: container.key, compute: COMPUTE, policy: '', ...times };
    const refusal = await callStore(() => store.acquireLease({ ...lease, holder: nameHome(intern.id), maxHeld: 1 }));
    if (!refusal) {
      leases.add(token, { onStop: () => {} });
      return { container: await openHome(parts, intern), token };
    }
    await pause(RETRY_MS, undefined, { signal });
  }
}

/** Keeps the home folder of a sandbox and the saved files the same. */
export const syncHome = (
  { store, objects, settings, now }: RuntimeParts,
  { container, token }: HomeLease,
  sandbox: Sandbox,
): HomeSync =>
  new HomeSync({
    store,
    objects,
    sandbox,
    containerKey: container.key,
    token,
    now,
    limits: () => ({ bytes: settings().limits.diskBytes, entries: settings().limits.diskEntries }),
  });
