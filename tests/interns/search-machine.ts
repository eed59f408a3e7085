import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';

export interface FoundProcess {
  pid: number;
  parent: number;
  command: string;
}

/** Lists the living processes below a process. */
export function listProcesses(ancestor: number): FoundProcess[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? readProcess(Number(name)) : []));
  const found: FoundProcess[] = [];
  for (let parents = [ancestor]; parents.length > 0; ) {
    const children = all.filter(({ parent }) => parents.includes(parent));
    found.push(...children);
    parents = children.map(({ pid }) => pid);
  }
  return found;
}

function readProcess(pid: number): FoundProcess[] {
  const status = tryRead(`/proc/${pid}/stat`);
  const [, state, parent] = /\) (\S) (\d+) /.exec(status) ?? [];
  if (parent === undefined || state === 'Z') return [];
  return [{ pid, parent: Number(parent), command: tryRead(`/proc/${pid}/cmdline`).replaceAll('\0', ' ') }];
}

function tryRead(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return ''; // the process has ended, or belongs to another user
  }
}

/**
 * Searches the arguments and environments of processes for a text.
 *
 * @param memory whether to search what they have in memory, too: what a core dump would have
 * @returns where it is
 */
export function findCopies(
  text: string,
  { processes, memory }: { processes: FoundProcess[]; memory: boolean },
): string[] {
  const places: string[] = [];
  for (const { pid, command } of processes) {
    if (tryRead(`/proc/${pid}/environ`).includes(text)) places.push(`environment of ${command}`);
    if (tryRead(`/proc/${pid}/cmdline`).includes(text)) places.push(`arguments of ${command}`);
    if (memory && memoryHas(pid, text)) places.push(`memory of ${command}`);
  }
  return places;
}

const PIECE = 4 * 1024 * 1024;

/** Whether the writable memory of a process has a text as bytes or as UTF-16. */
export function memoryHas(pid: number, text: string): boolean {
  const forms = [Buffer.from(text), Buffer.from(text, 'utf16le')];
  const overlap = text.length * 2;
  let descriptor: number;
  try {
    descriptor = openSync(`/proc/${pid}/mem`, 'r');
  } catch {
    return false; // it has ended, or the test must not read it
  }
  try {
    const piece = Buffer.alloc(PIECE);
    for (const [, from, until] of tryRead(`/proc/${pid}/maps`).matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)) {
      const end = Number.parseInt(until!, 16);
      for (let at = Number.parseInt(from!, 16); at < end; at += PIECE - overlap) {
        const read = tryReadMemory(descriptor, piece.subarray(0, Math.min(PIECE, end - at)), at);
        if (forms.some((form) => piece.subarray(0, read).includes(form))) return true;
        if (read < PIECE) break;
      }
    }
    return false;
  } finally {
    closeSync(descriptor);
  }
}

function tryReadMemory(descriptor: number, into: Buffer, at: number): number {
  try {
    return readSync(descriptor, into, 0, into.length, at);
  } catch {
    return 0; // pages that are not there
  }
}
