import { accessSync, constants } from 'node:fs';

/** Whether there is a program at this path that this user may run. */
export function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
