import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { readCharacterMap } from './character-maps.ts';

const path = mkdtempSync(join(tmpdir(), 'headgate-maps-'));
const folder = pathToFileURL(`${path}/`);
writeFileSync(join(path, '90ms-RKSJ-H.bcmap'), Buffer.from([1, 2, 3]));
afterAll(() => rmSync(path, { recursive: true }));

it('reads a map of the folder', async () => {
  expect(await readCharacterMap('90ms-RKSJ-H.bcmap', folder)).toEqual(new Uint8Array([1, 2, 3]));
});

it.each([
  '../90ms-RKSJ-H.bcmap',
  '/etc/passwd',
  '%2e%2e%2fa.bcmap',
  'a.bcmap/..',
  'missing.bcmap',
  '',
])('does not read %j', async (name) => {
  await expect(readCharacterMap(name, folder)).rejects.toThrow();
});
