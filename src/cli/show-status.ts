import type { LoadedConfig } from '../config/load.ts';
import { findLockOwner } from '../platform/data-folder/data-folder.ts';
import { writeStatus } from './banner.ts';
import { findGateway, listensAt, readReadiness } from './find-gateway.ts';
import type { Terminal } from './terminal.ts';

/**
 * Prints the status of the gateway that has the data folder and responds at the configured address.
 *
 * @returns false if there is no such gateway
 */
export async function showStatus(terminal: Terminal, loaded: LoadedConfig): Promise<boolean> {
  const holder = findLockOwner(loaded.dataDir);
  if (holder === undefined || !listensAt(loaded.dataDir, loaded.config.server)) return false;
  const gateway = await findGateway(loaded.config.server);
  if (gateway === undefined) return false;
  const state = await readReadiness(gateway);
  terminal.stdout.write(writeStatus(terminal, loaded, { ...gateway, state, holder: holder.name }));
  terminal.stdout.write(
    '\n"headgate --help" lists the commands. "headgate start" with another --data and --port starts a second gateway.\n',
  );
  return true;
}
