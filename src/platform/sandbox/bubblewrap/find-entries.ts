import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { SandboxEntry } from '../sandbox.ts';
import { MAX_LISTED_LEVELS, MAX_LISTED_PATH_BYTES, MAX_PATH_BYTES } from '../split-entry-path.ts';

/**
 * Runs `find` in a folder. It walks relative to open folders and follows no link, so that processes that change the tree
 * meanwhile cannot lead it elsewhere.
 *
 * @param folder an open folder: `/proc/<pid>/fd/<n>`
 * @param expression what it prints of each entry, after options
 */
async function* runFind(folder: string, ...expression: string[]): AsyncGenerator<Buffer> {
  const child = spawn('find', ['.', '-mindepth', '1', ...expression], {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(child, 'close');
  exited.catch(() => {}); // awaited below, unless the reader stops early
  try {
    yield* child.stdout as AsyncIterable<Buffer>;
    const [, signal] = (await exited) as [number | null, NodeJS.Signals | null];
    // It fails for entries that vanish meanwhile, which are not listed. If it was killed, others are missing, too.
    if (signal !== null) throw new Error(`the listing of a folder was ended by ${signal}`);
  } finally {
    child.kill('SIGKILL');
  }
}

export interface TreeSize {
  /** Bytes on the disk, or of the content if that is more: files can have holes, and several names. */
  bytes: number;
  entries: number;
}

/** Unreadable folders that one measurement reports. */
const MAX_UNREADABLE = 1000;

/**
 * Measures a folder, however deep, choice 493.
 *
 * @param stopAt ends the walk early if one of its values is exceeded
 * @returns the size, and the paths of folders whose content is missing because their owner cannot read them
 */
export async function measureTree(folder: string, stopAt: TreeSize): Promise<TreeSize & { unreadable: Buffer[] }> {
  const size = { bytes: 0, entries: 0, unreadable: [] as Buffer[] };
  let rest = '';
  const expression = [
    '-xdev',
    '-printf',
    '%b %s\\0',
    '-type',
    'd',
    '!',
    '-perm',
    '-500',
    '-printf',
    ` %.${MAX_LISTED_PATH_BYTES}P\\0`,
  ];
  for await (const piece of runFind(folder, ...expression)) {
    const records = (rest + piece.toString('latin1')).split('\0');
    rest = records.pop() ?? '';
    for (const record of records) {
      if (record.startsWith(' ')) {
        if (size.unreadable.length < MAX_UNREADABLE) size.unreadable.push(Buffer.from(record.slice(1), 'latin1'));
        continue;
      }
      const [blocks, bytes] = record.split(' ');
      size.bytes += Math.max(Number(blocks) * 512, Number(bytes));
      size.entries++;
    }
    if (size.bytes > stopAt.bytes || size.entries > stopAt.entries) break;
  }
  return size;
}

const fields = 8;
const kinds: Partial<Record<string, SandboxEntry['kind']>> = { f: 'file', d: 'folder', l: 'link' };

const listing = [
  ...['-maxdepth', String(MAX_LISTED_LEVELS), '-xdev'],
  ...['-printf', `%.${MAX_LISTED_PATH_BYTES}P\\0%y\\0%s\\0%m\\0%T@\\0%i\\0%C@\\0%l\\0`],
];

/** A path, the target of a link, and numbers. */
const MAX_RECORD_BYTES = MAX_LISTED_PATH_BYTES + 2 * MAX_PATH_BYTES;

/**
 * Lists a folder, one level deeper than a path that is saved, so that its reader learns of deeper ones. Folders come
 * before their content. Pipes, sockets and others are not listed.
 */
export async function* findEntries(folder: string): AsyncGenerator<SandboxEntry[]> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of runFind(folder, ...listing)) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const batch: SandboxEntry[] = [];
    let start = 0;
    for (;;) {
      const record = splitRecord(bytes, start);
      if (!record) break;
      start = record.end;
      const entry = readEntry(record.values);
      if (entry) batch.push(entry);
    }
    rest = bytes.subarray(start);
    if (rest.length > MAX_RECORD_BYTES) throw new Error('the listing of a folder is malformed');
    if (batch.length > 0) yield batch;
  }
}

function splitRecord(bytes: Buffer, from: number): { values: Buffer[]; end: number } | undefined {
  const values: Buffer[] = [];
  let at = from;
  for (let index = 0; index < fields; index++) {
    const end = bytes.indexOf(0, at);
    if (end < 0) return undefined;
    values.push(bytes.subarray(at, end));
    at = end + 1;
  }
  return { values, end: at };
}

function readEntry([path, kindText, size, mode, modified, node, changed, target]: Buffer[]): SandboxEntry | undefined {
  const kind = kinds[kindText!.toString('latin1')];
  if (!kind) return undefined;
  return {
    path: Buffer.from(path!),
    kind,
    bytes: kind === 'file' ? Number(size) : 0,
    mode: Number.parseInt(mode!.toString('latin1'), 8) & 0o777,
    modifiedAtMs: Math.floor(Number(modified) * 1000),
    ...(kind === 'link' ? { target: Buffer.from(target!) } : undefined),
    stamp: `${node}:${changed}:${size}`,
  };
}
