import { writeFileSync } from 'node:fs';

/**
 * Excludes the memory of this process and of its children from core dumps, because released secrets are in it. Linux only;
 * a system that does not allow it keeps its dumps. choice 720
 */
export function emptyCoreDumps(): void {
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {
    // A sandbox around the gateway has a read-only /proc. The guide of the vault says how to disable dumps.
  }
}
