import type { EntryToWrite } from '../sandbox.ts';
import { splitEntryPath } from '../split-entry-path.ts';
import { script } from './scripts.ts';
import { type ArchiveEntry, writeArchive } from './write-archive.ts';

/** Content that is sent at once. Files up to this size are sent together. */
const PIECE_BYTES = 1024 * 1024;
const SMALL_BYTES = 256 * 1024;
const MAX_GROUP = 500;
/** Without them the gateway cannot write into a folder. */
const OWNER_BITS = 0o700;

/** Runs a script of the gateway, with its input. @throws if it fails */
export type RunScript = (commands: Buffer, input?: Uint8Array) => Promise<unknown>;

/** Writes entries into the home folder with the scripts of `RUNNER`. */
export class FileWriter {
  private readonly run: RunScript;
  private group: ArchiveEntry[] = [];
  private groupBytes = 0;
  /** Folders that their owner cannot write. They get their mode when all is written. */
  private readonly restricted: Pick<EntryToWrite, 'path' | 'mode'>[] = [];

  constructor(run: RunScript) {
    this.run = run;
  }

  async write(entries: AsyncIterable<EntryToWrite>): Promise<void> {
    for await (const entry of entries) {
      const { content, ...rest } = entry;
      splitEntryPath(entry.path);
      if (entry.kind === 'file' && content) await this.writeContent(rest, content);
      else await this.add({ ...rest, content: Buffer.alloc(0) });
    }
    await this.flush();
    for (const { path, mode } of this.restricted.toReversed()) {
      await this.run(script`chmod ${mode.toString(8)} -- ${path}`);
    }
  }

  private async writeContent(entry: EntryToWrite, content: AsyncIterable<Uint8Array>): Promise<void> {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    let isLarge = false;
    for await (const piece of content) {
      pieces.push(Uint8Array.from(piece)); // its buffer can be reused
      bytes += piece.length;
      if (bytes < (isLarge ? PIECE_BYTES : SMALL_BYTES)) continue;
      if (!isLarge) await this.startLarge(entry);
      isLarge = true;
      await this.append(Buffer.concat(pieces));
      pieces.length = 0;
      bytes = 0;
    }
    if (!isLarge) return await this.add({ ...entry, content: Buffer.concat(pieces) });
    await this.append(Buffer.concat(pieces));
    await this.endLarge(entry);
  }

  private async startLarge({ path }: EntryToWrite): Promise<void> {
    await this.flush();
    await this.run(script`make_way ${path} && rm -f -- ${inHome(path)} && exec {large}>${inHome(path)}`);
  }

  private async append(content: Buffer): Promise<void> {
    for (let at = 0; at < content.length; at += PIECE_BYTES) {
      const piece = content.subarray(at, at + PIECE_BYTES);
      await this.run(script`head -c ${piece.length} >&$large`, piece);
    }
  }

  private async endLarge({ path, mode, modifiedAtMs }: EntryToWrite): Promise<void> {
    const time = `@${(Math.floor(modifiedAtMs) / 1000).toFixed(3)}`;
    await this.run(
      script`exec {large}>&- && chmod ${mode.toString(8)} -- ${inHome(path)} && touch -d ${time} -- ${inHome(path)}`,
    );
  }

  private async add(entry: ArchiveEntry): Promise<void> {
    const isRestricted = entry.kind === 'folder' && (entry.mode & OWNER_BITS) !== OWNER_BITS;
    if (isRestricted) this.restricted.push({ path: inHome(entry.path), mode: entry.mode });
    this.group.push(isRestricted ? { ...entry, mode: entry.mode | OWNER_BITS } : entry);
    this.groupBytes += entry.content.length;
    if (this.group.length >= MAX_GROUP || this.groupBytes >= PIECE_BYTES) await this.flush();
  }

  private async flush(): Promise<void> {
    if (this.group.length === 0) return;
    const folders = new Set<string>();
    const steps = this.group.map(({ kind, path }) => {
      const above = path.subarray(0, Math.max(0, path.lastIndexOf('/'))).toString('latin1');
      const isReady = above === '' || folders.has(above);
      folders.add(above);
      if (kind !== 'folder') return isReady ? script`make_room ${path} && ` : script`make_way ${path} && `;
      folders.add(path.toString('latin1'));
      return script`make_folder ${path} && `;
    });
    const archive = writeArchive(this.group);
    this.group = [];
    this.groupBytes = 0;
    const extract = script`head -c ${archive.length} | tar -xpf - --no-same-owner`;
    await this.run(Buffer.concat([...steps, extract]), archive);
  }
}

const inHome = (path: Buffer): Buffer => Buffer.concat([Buffer.from('./'), path]);
