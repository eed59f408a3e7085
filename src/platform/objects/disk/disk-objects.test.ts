import { mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { testObjects } from '../contract.ts';
import { openDiskObjects } from './disk-objects.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-objects-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

testObjects('disk', () => openDiskObjects(join(folder, 'shared')));

describe('objects on disk', () => {
  async function* one(text: string): AsyncGenerator<Buffer> {
    yield Buffer.from(text);
  }

  it('are readable by the owner only, and leave no empty folder behind', async () => {
    const place = join(folder, 'own');
    const objects = openDiskObjects(place);
    await objects.put('a/b/c', one('text'));
    expect(statSync(join(place, 'objects/a/b/c%')).mode & 0o777).toBe(0o600);
    expect(statSync(join(place, 'objects/a')).mode & 0o777).toBe(0o700);
    await objects.remove('a/b/c');
    expect(readdirSync(join(place, 'objects'))).toEqual([]);
    expect(readdirSync(join(place, 'incoming'))).toEqual([]);
  });

  it('remove the leftovers of interrupted writes, except those that are still written', async () => {
    const place = join(folder, 'leftovers');
    const objects = openDiskObjects(place);
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const writing = objects.put(
      'slow',
      (async function* () {
        yield Buffer.from('half');
        begun.resolve();
        await gate.promise;
      })(),
    );
    await begun.promise;
    const [draft] = readdirSync(join(place, 'incoming'));
    await objects.removeLeftovers(3_600_000);
    expect(readdirSync(join(place, 'incoming'))).toEqual([draft]);
    expect(await objects.list({ prefix: '', limit: 10 })).toEqual([]);

    const old = Date.now() / 1000 - 7200;
    utimesSync(join(place, 'incoming', draft!), old, old);
    await objects.removeLeftovers(3_600_000);
    expect(readdirSync(join(place, 'incoming'))).toEqual([]);
    gate.resolve();
    await expect(writing).rejects.toThrow('ENOENT');
    await objects.removeLeftovers(0);
  });
});
