import { setTimeout as delay } from 'node:timers/promises';
import { openFilesOnce } from '../compose/open-files.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { GatewayError } from '../domain/errors.ts';
import { prefixRows } from '../management/containers/container-place.ts';
import { deleteContainer } from '../management/containers/sweep-containers.ts';
import { writeTime } from '../management/write-time.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { ContainerRecord, ContainerStore, StopRequest } from '../platform/storage/ports/containers.ts';
import { formatDistance } from './format-time.ts';
import { requireStore, withStore } from './open-store.ts';
import { resolveWorkspace } from './resolve-workspace.ts';
import { readIssues } from './read-issues.ts';
import { drawTable } from './table.ts';
import { CommandError, type Terminal } from './terminal.ts';

export interface ContainerOptions {
  /** Name, slug or id of the workspace. Absent: the default one. */
  workspace?: string;
  json?: boolean;
}

/** Rows that are read at once. */
const PAGE = 500;
/** Longest wait for a sandbox to stop: the gateway looks every 5 seconds, and saves the files. */
const MAX_WAIT_MS = 60_000;
const POLL_MS = 200;

interface Place {
  store: ContainerStore;
  objects: Objects;
  workspaceId: string;
}

/** Opens the containers of a workspace. @throws {CommandError} */
const withContainers = async <Result>(
  { stderr }: Pick<Terminal, 'stderr'>,
  config: Config,
  { workspace }: ContainerOptions,
  use: (place: Place) => Promise<Result>,
): Promise<Result> => {
  requireStore(config);
  return withStore({ config, stderr }, async (storage) => {
    try {
      const { id } = await resolveWorkspace(storage.management, workspace);
      const { objects } = openFilesOnce(config, storage.files);
      return await use({ store: storage.containers, objects, workspaceId: id });
    } catch (error) {
      if (error instanceof GatewayError) throw new CommandError(readIssues(error), { cause: error });
      throw error;
    }
  });
};

/** Prints the containers of a workspace by id: as a table, or as a JSON list. */
export async function printContainers(terminal: Terminal, config: Config, options: ContainerOptions): Promise<void> {
  const { stdout, stderr } = terminal;
  const found = await withContainers(terminal, config, options, async ({ store, workspaceId }) => {
    const all: { container: ContainerRecord; running: string[] }[] = [];
    for (let after: string | undefined; ; ) {
      const page = await store.listContainers({ workspaceId, after, limit: PAGE });
      for (const container of page) {
        const leases = await store.listLeases(container.key, currentTimeMs());
        all.push({ container, running: leases.map(({ compute }) => compute) });
      }
      if (page.length < PAGE) return all;
      after = page.at(-1)!.id;
    }
  });
  if (options.json) {
    const rows = found.map(({ container, running }) => ({
      id: container.id,
      created_at: writeTime(container.createdAtMs),
      used_at: writeTime(container.usedAtMs),
      bytes: container.bytes,
      entries: container.entries,
      running,
    }));
    stdout.write(`${JSON.stringify(rows, undefined, 2)}\n`);
    return;
  }
  if (found.length === 0) {
    stderr.write('There are no containers. The tools bash and shell create them.\n');
    return;
  }
  const now = currentTimeMs();
  const cells = found.map(({ container: { id, bytes, entries, usedAtMs }, running }) => [
    id,
    running.join(', ') || '-',
    String(entries),
    String(bytes),
    formatDistance(usedAtMs, now),
  ]);
  const columns = [
    { title: 'ID' },
    { title: 'RUNNING', canWrap: true },
    { title: 'ENTRIES', isNumber: true },
    { title: 'BYTES', isNumber: true },
    { title: 'USED' },
  ];
  stdout.write(drawTable(terminal, columns, cells));
}

/** Stops what runs in a container. Its files are saved. */
export async function stopContainer(
  terminal: Terminal,
  config: Config,
  id: string,
  options: ContainerOptions & { now?: boolean },
): Promise<void> {
  const stopped = await withContainers(terminal, config, options, async (place) => {
    const { key } = await findContainer(place, id);
    return stopAll(place.store, key, options.now ? 'now' : 'idle');
  });
  const what = stopped === 1 ? '1 sandbox' : `${stopped} sandboxes`;
  terminal.stderr.write(stopped === 0 ? `The container ${id} is not running.\n` : `Stopped ${id} (${what}).\n`);
}

/** Stops a container, and deletes it with its files. */
export async function removeContainer(
  terminal: Terminal,
  config: Config,
  id: string,
  options: ContainerOptions,
): Promise<void> {
  await withContainers(terminal, config, options, async (place) => {
    const { key } = await findContainer(place, id);
    await stopAll(place.store, key, 'now');
    await deleteContainer({ ...place, now: currentTimeMs }, key);
  });
  terminal.stderr.write(`Deleted the container "${id}".\n`);
}

/** Finds a container by the id that the list shows, or that callers use if only one of them has it. @throws {CommandError} */
export async function findContainer(
  { store, workspaceId }: Pick<Place, 'store' | 'workspaceId'>,
  id: string,
): Promise<ContainerRecord> {
  const exact = await store.findContainer(workspaceId, id);
  if (exact) return exact;
  const prefix = prefixRows(id);
  const next = await store.listContainers({ workspaceId, after: prefix, limit: 2 });
  const [found, another] = next.filter(({ id: storedId }) => storedId.startsWith(prefix));
  if (!found) throw new CommandError(`There is no container "${id}"; see "headgate containers list".`);
  if (!another) return found;
  throw new CommandError(`Several callers have a container "${id}"; name one of "headgate containers list".`);
}

/** @returns the number of sandboxes @throws {CommandError} if they do not stop */
async function stopAll(store: ContainerStore, key: string, stop: Exclude<StopRequest, 'none'>): Promise<number> {
  const leases = await store.listLeases(key, currentTimeMs());
  for (const { token } of leases) await store.requestStop(token, stop);
  const asked = new Set(leases.map(({ token }) => token));
  const endAt = currentTimeMs() + MAX_WAIT_MS;
  for (let left = asked.size; left > 0; ) {
    left = (await store.listLeases(key, currentTimeMs())).filter(({ token }) => asked.has(token)).length;
    if (left === 0) break;
    if (currentTimeMs() > endAt) {
      const remedy = stop === 'idle' ? ' A command is running; --now ends it.' : ' See the log of the gateway.';
      throw new CommandError(`The container did not stop within ${MAX_WAIT_MS / 1000} s.${remedy}`);
    }
    await delay(POLL_MS); // until the next poll
  }
  return asked.size;
}
