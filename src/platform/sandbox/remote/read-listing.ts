import type { SandboxEntry } from '../sandbox.ts';

const kinds: Readonly<Record<string, SandboxEntry['kind']>> = { f: 'file', d: 'folder', l: 'link' };
/** Maximum bytes of a field. It is more than the longest path of Linux. */
const MAX_FIELD = 16 * 1024;
const FIELDS = 8;

/** Reads the output of `LIST` in pieces of any size. */
export class ListingReader {
  /** The exit code of the listing, at its end. */
  code: number | undefined;
  private rest = Buffer.alloc(0);
  private fields: Buffer[] = [];

  /** @throws if the output is not a listing */
  push(piece: Buffer): SandboxEntry[] {
    const bytes = Buffer.concat([this.rest, piece]);
    const entries: SandboxEntry[] = [];
    let start = 0;
    for (let end = bytes.indexOf(0); end !== -1 && this.code === undefined; end = bytes.indexOf(0, start)) {
      this.fields.push(bytes.subarray(start, end));
      start = end + 1;
      if (this.fields.length === 1) this.readEnd(this.fields[0]!);
      if (this.fields.length === FIELDS) {
        entries.push(readEntry(this.fields));
        this.fields = [];
      }
    }
    this.fields = this.fields.map((field) => Buffer.from(field));
    this.rest = Buffer.from(bytes.subarray(start));
    if (this.rest.length > MAX_FIELD) throw new Error('The sandbox returned a malformed list of files.');
    return entries;
  }

  private readEnd(field: Buffer): void {
    const end = /^e(\d{1,3})$/.exec(field.toString('latin1'));
    if (end) this.code = Number(end[1]);
  }
}

function readEntry(fields: Buffer[]): SandboxEntry {
  const [type, mode, size, modified, changed, inode] = fields.slice(0, 6).map((field) => field.toString('latin1'));
  const [path, target] = fields.slice(6) as [Buffer, Buffer]; // there are eight
  const kind = kinds[type!];
  const time = /^(-?\d{1,15})(?:\.(\d{3})\d*)?$/.exec(modified!);
  const isValid = kind && time && /^[0-7]{1,5}$/.test(mode!) && /^\d{1,15}$/.test(size!) && path.length > 0;
  if (!isValid) throw new Error('The sandbox returned a malformed list of files.');
  return {
    path: Buffer.from(path),
    kind,
    bytes: kind === 'file' ? Number(size) : 0,
    mode: Number.parseInt(mode!, 8) & 0o7777,
    modifiedAtMs: Number(time[1]) * 1000 + Number(time[2] ?? 0),
    ...(kind === 'link' && { target: Buffer.from(target) }),
    stamp: `${inode}.${changed}.${size}`,
  };
}
