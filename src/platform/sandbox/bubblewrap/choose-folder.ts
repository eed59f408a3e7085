import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const OTHERS_MAY_ENTER = 0o001;

/**
 * Returns the folder for the home folders of running sandboxes: in the data folder, or in `/var/tmp` if the gateway runs
 * as root and other users cannot enter the data folder. Sandboxes of root have another user. // choice 490
 */
export function chooseSandboxFolder(dataDir: string): string {
  const own = join(resolve(dataDir), 'sandboxes');
  return process.getuid?.() === 0 && !canOthersEnter(dirname(own)) ? '/var/tmp/headgate-sandboxes' : own;
}

function canOthersEnter(folder: string): boolean {
  const status = statSync(folder, { throwIfNoEntry: false });
  if (!status) return false; // it is created for its user alone
  const above = dirname(folder);
  return (status.mode & OTHERS_MAY_ENTER) !== 0 && (above === folder || canOthersEnter(above));
}
