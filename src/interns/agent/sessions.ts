import { createHash } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Item } from './call-model.ts';

/** Conversations that are kept. The least recently used ones are deleted. */
const MAX_SESSIONS = 500;
/** A file that has grown beyond this is written again. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const INTERRUPTED = 'The call was interrupted before it had a result.';

/**
 * The conversations of an agent, a file each. A line has an item, or all items after a compaction. A line that was cut off
 * by a crash is ignored.
 */
export class SessionStore {
  private readonly folder: string;

  constructor(home: string) {
    this.folder = join(home, '.headgate', 'sessions');
  }

  async open(id: string): Promise<AgentSession> {
    await mkdir(this.folder, { recursive: true });
    const path = join(this.folder, `${createHash('sha256').update(id).digest('hex')}.jsonl`);
    const text = await readFile(path, 'utf8').catch(() => ''); // a new session
    const session = new AgentSession(path, readItems(text), Buffer.byteLength(text));
    if (text === '') await this.removeOldest();
    else await session.replace(session.items);
    return session;
  }

  private async removeOldest(): Promise<void> {
    const names = (await readdir(this.folder)).filter((name) => name.endsWith('.jsonl'));
    if (names.length < MAX_SESSIONS) return;
    const times = await Promise.all(
      names.map(async (name) => ({ name, usedAtMs: (await stat(join(this.folder, name))).mtimeMs })),
    );
    times.sort((a, b) => a.usedAtMs - b.usedAtMs);
    for (const { name } of times.slice(0, names.length - MAX_SESSIONS + 1)) await rm(join(this.folder, name));
  }
}

/** A conversation. New items are on the disk before they are used. */
export class AgentSession {
  private readonly path: string;
  items: Item[];
  private bytes: number;

  constructor(path: string, items: Item[], bytes: number) {
    this.path = path;
    this.items = items;
    this.bytes = bytes;
  }

  async add(items: readonly Item[]): Promise<void> {
    this.items.push(...items);
    if (this.bytes > MAX_FILE_BYTES) return this.replace(this.items);
    await this.write(this.path, 'a', items.map((item) => `${JSON.stringify({ item })}\n`).join(''));
  }

  /** Replaces all items. */
  async replace(items: Item[]): Promise<void> {
    this.items = items;
    this.bytes = 0;
    await this.write(`${this.path}.new`, 'w', `${JSON.stringify({ items })}\n`);
    await rename(`${this.path}.new`, this.path);
    const now = new Date();
    await utimes(this.path, now, now);
  }

  private async write(path: string, flags: string, text: string): Promise<void> {
    const file = await open(path, flags, 0o600);
    try {
      await file.writeFile(text);
      await file.datasync();
    } finally {
      await file.close();
    }
    this.bytes += Buffer.byteLength(text);
  }
}

function readItems(text: string): Item[] {
  let items: Item[] = [];
  for (const line of text.split('\n')) {
    try {
      const entry = JSON.parse(line) as { item?: Item; items?: Item[] };
      if (entry.items) items = entry.items;
      else if (entry.item) items.push(entry.item);
    } catch {
      // the last line, of a process that was killed
    }
  }
  return completeCalls(items);
}

/** Gives every call a result, without which no provider accepts the conversation. */
export function completeCalls(items: readonly Item[], output = INTERRUPTED): Item[] {
  const done = new Set(items.flatMap((item) => (item.type === 'function_call_output' ? [item.call_id] : [])));
  return items.flatMap((item) =>
    item.type === 'function_call' && !done.has(item.call_id)
      ? [item, { type: 'function_call_output', call_id: item.call_id, output }]
      : [item],
  );
}
