import type { EntryToWrite } from '../sandbox.ts';

const BLOCK = 512;
/** GNU tar reads this much at once. */
const RECORD = 20 * BLOCK;
const MAX_NAME = 100;

export interface ArchiveEntry extends Pick<EntryToWrite, 'path' | 'kind' | 'mode' | 'modifiedAtMs' | 'target'> {
  content: Uint8Array;
}

/**
 * Writes an archive for GNU tar, with names of any bytes.
 *
 * @see https://www.gnu.org/software/tar/manual/html_node/Standard.html
 */
export function writeArchive(entries: readonly ArchiveEntry[]): Buffer {
  const blocks = entries.flatMap(writeEntry);
  const bytes = blocks.reduce((sum, block) => sum + block.length, 2 * BLOCK);
  return Buffer.concat(blocks, Math.ceil(bytes / RECORD) * RECORD);
}

function writeEntry({ path, kind, mode, modifiedAtMs, target, content }: ArchiveEntry): Uint8Array[] {
  const seconds = Math.max(0, Math.floor(modifiedAtMs / 1000));
  const milliseconds = Math.max(0, Math.floor(modifiedAtMs)) % 1000;
  const blocks: Uint8Array[] = [];
  if (milliseconds > 0) {
    const time = `mtime=${seconds}.${String(milliseconds).padStart(3, '0')}\n`;
    const record = Buffer.from(`${time.length + 3} ${time}`); // two digits and the space count as well
    blocks.push(writeHeader({ type: 'x', name: Buffer.from('time'), bytes: record.length }), pad(record));
  }
  const name = Buffer.concat([Buffer.from('./'), path]);
  if (name.length >= MAX_NAME) blocks.push(...writeLongName('L', name));
  if (target && target.length >= MAX_NAME) blocks.push(...writeLongName('K', target));
  const type = { file: '0', folder: '5', link: '2' }[kind];
  const bytes = kind === 'file' ? content.length : 0;
  blocks.push(writeHeader({ type, name, bytes, mode, seconds, ...(target && { target }) }));
  if (bytes > 0) blocks.push(pad(content));
  return blocks;
}

const writeLongName = (type: 'L' | 'K', name: Buffer): Uint8Array[] => {
  const content = Buffer.concat([name, Buffer.of(0)]);
  return [writeHeader({ type, name: Buffer.from('././@LongLink'), bytes: content.length }), pad(content)];
};

interface Header {
  type: string;
  name: Buffer;
  bytes: number;
  mode?: number;
  seconds?: number;
  target?: Buffer;
}

function writeHeader({ type, name, bytes, mode = 0o644, seconds = 0, target }: Header): Buffer {
  const block = Buffer.alloc(BLOCK);
  name.copy(block, 0, 0, MAX_NAME - 1);
  writeOctal(block, 100, 8, mode & 0o7777);
  writeOctal(block, 108, 8, 0);
  writeOctal(block, 116, 8, 0);
  writeOctal(block, 124, 12, bytes);
  writeOctal(block, 136, 12, seconds);
  block.write(type, 156);
  target?.copy(block, 157, 0, MAX_NAME - 1);
  block.write('ustar  \0', 257, 'latin1');
  block.fill(' ', 148, 156);
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

function writeOctal(block: Buffer, at: number, size: number, value: number): void {
  block.write(`${value.toString(8).padStart(size - 1, '0')}\0`, at, 'latin1');
}

function pad(content: Uint8Array): Uint8Array {
  const over = content.length % BLOCK;
  return over === 0 ? content : Buffer.concat([content], content.length + BLOCK - over);
}
