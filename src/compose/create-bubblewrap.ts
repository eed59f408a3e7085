import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LoadedConfig } from '../config/load.ts';
import { BubblewrapDriver } from '../platform/sandbox/bubblewrap/bubblewrap-driver.ts';
import { chooseSandboxFolder } from '../platform/sandbox/bubblewrap/choose-folder.ts';

export interface BubblewrapPlace extends Pick<LoadedConfig, 'config' | 'dataDir'> {
  /** The configuration file. */
  file?: string | undefined;
  /** Replaces the folder of running sandboxes. */
  folder?: string;
}

/** Creates the driver with everything of the gateway hidden from it. Starts nothing. */
export function createBubblewrap({ config, dataDir, file, folder }: BubblewrapPlace): BubblewrapDriver {
  const { catalog, files, plugins, storage, tools } = config;
  const readPath = (url: string): string[] => (url.startsWith('file:') ? [url.slice('file:'.length)] : []);
  return new BubblewrapDriver({
    folder: folder ?? chooseSandboxFolder(dataDir),
    hidden: [
      fileURLToPath(new URL('../..', import.meta.url)), // the installed package
      process.cwd(),
      dataDir,
      ...readPath(files.url),
      ...readPath(storage.url).map(dirname),
      ...(file === undefined ? [] : [dirname(file), file]),
      ...(catalog.overrides === undefined ? [] : [catalog.overrides]),
      ...plugins.modules,
      ...tools.modules,
    ],
  });
}
