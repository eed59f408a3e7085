import { execFileSync } from 'node:child_process';
import { lstatSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert, constantFrom, integer, property, record, uint8Array } from 'fast-check';
import { expect, it } from 'vitest';
import { writeArchive } from './write-archive.ts';

const name = uint8Array({ minLength: 1, maxLength: 250 })
  .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 0 || byte === 0x2f ? 0x78 : byte))))
  .filter((bytes) => !['.', '..'].includes(bytes.toString('latin1')));
const entry = record({
  name,
  kind: constantFrom<'file' | 'link'>('file', 'link'),
  mode: constantFrom(0o600, 0o644, 0o755),
  modifiedAtMs: integer({ min: 0, max: 1_700_000_000_000 }),
  content: uint8Array({ maxLength: 2000 }),
});

it('writes archives that tar reads: names of any bytes and lengths, modes, times, contents and links', () => {
  assert(
    property(entry, ({ name: path, kind, mode, modifiedAtMs, content }) => {
      const folder = mkdtempSync(join(tmpdir(), 'headgate-archive-'));
      try {
        const target = kind === 'link' ? { target: path } : {};
        const file = { path, mode, modifiedAtMs, ...target, content: kind === 'file' ? content : Buffer.alloc(0) };
        const inner = {
          path: Buffer.from('d'),
          kind: 'folder' as const,
          mode: 0o750,
          modifiedAtMs,
          content: Buffer.alloc(0),
        };
        const nested = { ...file, kind, path: Buffer.concat([Buffer.from('d/'), path]) };
        execFileSync('tar', ['-C', folder, '-xpf', '-'], { input: writeArchive([inner, nested]) });
        const at = Buffer.concat([Buffer.from(join(folder, 'd/')), path]);
        expect(lstatSync(join(folder, 'd')).mode & 0o777).toBe(0o750);
        const found = lstatSync(at);
        expect(Math.round(found.mtimeMs)).toBe(modifiedAtMs);
        if (kind === 'link') {
          expect(readlinkSync(at, { encoding: 'buffer' })).toEqual(Buffer.from(path));
          return;
        }
        expect(found.mode & 0o777).toBe(mode);
        expect(readFileSync(at)).toEqual(Buffer.from(content));
      } finally {
        rmSync(folder, { recursive: true });
      }
    }),
    { numRuns: 40 },
  );
});
