import type { EntryToWrite, SandboxEntry } from '../sandbox.ts';
import { splitEntryPath } from '../split-entry-path.ts';
import { decodeFileName, encodeFileName } from './file-name.ts';
import type { FileNode, FolderNode, Place, SimulatedFiles } from './simulated-files.ts';

/** Entries of one batch of a listing. */
const BATCH = 500;
/** Listings and files that are open at once. The oldest is closed for a new one. */
const MAX_OPEN = 64;

interface OpenFile {
  readonly content: Buffer;
  at: number;
}

/** The operations of the driver in the home folder. They follow no link. */
export class HomeAccess {
  private readonly files: SimulatedFiles;
  private readonly listings = new Map<number, Iterator<SandboxEntry>>();
  private readonly readers = new Map<number, OpenFile>();
  private readonly writers = new Map<number, { node: FileNode; modifiedAtMs: number }>();
  private handles = 0;

  constructor(files: SimulatedFiles) {
    this.files = files;
  }

  startList(): number {
    return this.keep(this.listings, listEntries(this.files.home));
  }

  /** @returns an empty batch at the end */
  continueList(handle: number): SandboxEntry[] {
    const listing = get(this.listings, handle);
    const batch: SandboxEntry[] = [];
    while (batch.length < BATCH) {
      const { value, done } = listing.next();
      if (done) break;
      batch.push(value);
    }
    if (batch.length === 0) this.listings.delete(handle);
    return batch;
  }

  /** @returns undefined if there is no such file */
  openRead(path: Uint8Array): number | undefined {
    const node = this.findPlace(path, false)?.node;
    if (node?.kind !== 'file') return undefined;
    // A snapshot: later content is in another buffer, or behind these bytes.
    return this.keep(this.readers, { content: node.content.subarray(0, node.bytes), at: 0 });
  }

  /** @returns at most `maxBytes`; nothing at the end */
  read(handle: number, maxBytes: number): Uint8Array {
    const file = get(this.readers, handle);
    const piece = Uint8Array.from(file.content.subarray(file.at, file.at + maxBytes));
    file.at += piece.length;
    if (piece.length === 0) this.readers.delete(handle);
    return piece;
  }

  /** Replaces what is at the path. @returns a handle for the content of a file */
  openWrite(entry: Omit<EntryToWrite, 'content'>): number | undefined {
    const place = this.findPlace(entry.path, true)!;
    const path = decodeFileName(entry.path);
    const { mode, modifiedAtMs } = entry;
    if (entry.kind === 'folder' && place.node?.kind === 'folder') {
      Object.assign(place.node, { mode, modifiedAtMs });
      place.node.version++;
      return undefined;
    }
    if (place.node) this.files.removeAt(place);
    if (entry.kind === 'link') {
      this.files.symlink(decodeFileName(entry.target!), `/workspace/home/${path}`);
      return undefined;
    }
    const node = entry.kind === 'folder' ? this.files.createFolder(mode) : this.files.createFile(mode);
    this.files.add(place, path, node);
    node.modifiedAtMs = modifiedAtMs;
    return node.kind === 'file' ? this.keep(this.writers, { node, modifiedAtMs }) : undefined;
  }

  write(handle: number, content: Uint8Array): void {
    const { node } = get(this.writers, handle);
    this.files.append(node, true, content);
  }

  closeWrite(handle: number): void {
    const { node, modifiedAtMs } = get(this.writers, handle);
    node.modifiedAtMs = modifiedAtMs;
    this.writers.delete(handle);
  }

  remove(path: Uint8Array): void {
    const place = this.findPlace(path, false);
    if (place?.node) this.files.removeAt(place);
  }

  private findPlace(path: Uint8Array, isCreating: boolean): Place | undefined {
    const parts = splitEntryPath(path).map(decodeFileName);
    const name = parts.pop()!; // there is at least one
    let folder: FolderNode = this.files.home;
    for (const part of parts) {
      const place: Place = { folder, name: part, node: folder.children.get(part), isHome: true };
      if (place.node?.kind === 'folder') {
        folder = place.node;
        continue;
      }
      if (!isCreating) return undefined;
      if (place.node) this.files.removeAt(place);
      folder = this.files.createFolder(0o755);
      this.files.add({ ...place, node: undefined }, part, folder);
    }
    return { folder, name, node: folder.children.get(name), isHome: true };
  }

  private keep<Open>(open: Map<number, Open>, one: Open): number {
    if (open.size === MAX_OPEN) open.delete(open.keys().next().value!); // it is not empty
    open.set(++this.handles, one);
    return this.handles;
  }
}

function get<Open>(open: ReadonlyMap<number, Open>, handle: number): Open {
  const found = open.get(handle);
  if (!found) throw new Error('Too many files are open at once.');
  return found;
}

/** Lists without recursion: folders can be very deep. */
function* listEntries(home: FolderNode): Generator<SandboxEntry> {
  const folders: { path: string; folder: FolderNode }[] = [{ path: '', folder: home }];
  for (let next = folders.pop(); next; next = folders.pop()) {
    for (const [name, node] of next.folder.children) {
      const path = next.path + name;
      const { kind, mode, modifiedAtMs, serial, version } = node;
      const stamp = `${serial}.${version}`;
      const entry = { path: encodeFileName(path), kind, bytes: 0, mode, modifiedAtMs, stamp };
      if (node.kind === 'file') yield { ...entry, bytes: node.bytes };
      else if (node.kind === 'link') yield { ...entry, target: encodeFileName(node.target) };
      else {
        folders.push({ path: `${path}/`, folder: node });
        yield entry;
      }
    }
  }
}
