import type { ContainerStore } from './ports/containers.ts';
import {
  deleteOrphans,
  deleteTombstones,
  findEntryRow,
  listContainerFileRows,
  listContentRows,
  listEntryRows,
  moveContents,
  readObjectUse,
  saveEntries,
} from './tables/container-entries.ts';
import {
  acquireLease,
  deleteContainerRow,
  findContainerRow,
  findContainerRows,
  listContainerRows,
  listExistingContainers,
  listLeases,
  listUnusedContainers,
  releaseAllLeases,
  releaseLease,
  renewLeases,
  requestStop,
  useContainer,
} from './tables/containers.ts';
import type { Database } from './tables/database.ts';

/** Creates the store of containers over either dialect. */
export const createContainerStore = (db: Database): ContainerStore => ({
  useContainer: (workspaceId, id, newKey, atMs) => useContainer(db, workspaceId, id, newKey, atMs),
  findContainer: (workspaceId, id) => findContainerRow(db, workspaceId, id),
  findContainers: (id) => findContainerRows(db, id),
  listContainers: (query) => listContainerRows(db, query),
  listUnusedContainers: (query) => listUnusedContainers(db, query),
  deleteContainer: (key, unused) => deleteContainerRow(db, key, unused),
  listExistingContainers: (keys) => listExistingContainers(db, keys),
  deleteOrphans: (limit) => deleteOrphans(db, limit),
  deleteTombstones: (nowMs, limit) => deleteTombstones(db, nowMs, limit),
  acquireLease: (lease) => acquireLease(db, lease),
  renewLeases: (tokens, untilMs) => renewLeases(db, tokens, untilMs),
  releaseLease: (token, atMs) => releaseLease(db, token, atMs),
  releaseAllLeases: () => releaseAllLeases(db),
  listLeases: (containerKey, nowMs) => listLeases(db, containerKey, nowMs),
  requestStop: (token, stop) => requestStop(db, token, stop),
  saveEntries: (save) => saveEntries(db, save),
  listFiles: (query) => listContainerFileRows(db, query),
  findEntry: (containerKey, path) => findEntryRow(db, containerKey, path),
  listEntries: (query) => listEntryRows(db, query),
  listContents: (query) => listContentRows(db, query),
  readObjectUse: (containerKey, objects) => readObjectUse(db, containerKey, objects),
  moveContents: (containerKey, moves) => moveContents(db, containerKey, moves),
});
