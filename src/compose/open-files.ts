import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import type { FileParts } from '../management/files/parts.ts';
import { sweepFiles } from '../management/files/sweep-files.ts';
import { HOUR_MS, repeatHourly } from '../platform/hourly.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { FileStore } from '../platform/storage/ports/files.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import { areOwnObjects, findObjectFolder, openObjects } from './open-objects.ts';

export interface OpenFilesParts {
  config: () => Config;
  files: FileStore;
  dataDir: string;
  log: WriteLog;
  /** Whether no other process of this host is running. */
  isFirst: boolean;
  /** Whether it removes contents without a file. One of several workers does so for all. */
  cleans: boolean;
}

/** Opens the files of workspaces. @param resources collects the resources to close at the end */
export async function openFiles(parts: OpenFilesParts, resources: AsyncDisposableStack): Promise<FileParts> {
  const { config, files, log } = parts;
  const objects = openObjects(config());
  if (parts.isFirst) await removeInterruptedUploads(objects, parts);
  const now = currentTimeMs;
  if (parts.cleans) {
    const sweep = repeatHourly(
      (signal) => sweepFiles({ files, objects, now }, signal),
      (error) => log('file sweep failed', { err: error }),
    );
    resources.defer(sweep.close);
  }
  return { files, objects, limits: () => readFileLimits(config()), now };
}

/** Opens the files for one command. */
export const openFilesOnce = (config: Config, files: FileStore): FileParts => ({
  files,
  objects: openObjects(config),
  limits: () => readFileLimits(config),
  now: currentTimeMs,
});

const readFileLimits = ({ files }: Config) => ({
  maxBytes: files.max_bytes,
  workspaceBytes: files.workspace_bytes,
  workspaceFiles: files.workspace_files,
});

/** Removes what uploads left when a process was killed. Other hosts may still write to a folder outside the data folder. */
export async function removeInterruptedUploads(
  objects: Pick<Objects, 'removeLeftovers'>,
  { config, dataDir, log }: Pick<OpenFilesParts, 'config' | 'dataDir' | 'log'>,
): Promise<void> {
  // A bucket may be unreachable, and the hourly sweep cleans it, too.
  if (findObjectFolder(config()) === undefined) return;
  try {
    await objects.removeLeftovers(areOwnObjects(config(), dataDir) ? 0 : HOUR_MS);
  } catch (error) {
    log('file sweep failed', { err: error });
  }
}
