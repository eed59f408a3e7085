import { randomBytes, randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { type ByteRange, ObjectKeyError, type Objects } from './objects.ts';

/** Tests the contract of all adapters. The tests share one store and use unique keys. */
export function testObjects(name: string, open: () => Objects | Promise<Objects>): void {
  const put = async (objects: Objects, key: string, content: string | Buffer = key): Promise<number> =>
    objects.put(key, pieces(Buffer.from(content)));
  const read = async (objects: Objects, key: string, range?: ByteRange): Promise<string | undefined> => {
    const found = await objects.open(key, range);
    return found && (await buffer(found.content)).toString();
  };
  const list = async (objects: Objects, prefix: string, after?: string, limit = 1000): Promise<string[]> =>
    (await objects.list({ prefix, limit, ...(after === undefined ? undefined : { after }) })).map(({ key }) => key);

  describe(`objects: ${name}`, () => {
    it('stores a stream, replaces it as a whole, and removes it', async () => {
      const objects = await open();
      const key = `${randomUUID()}/content`;
      const large = randomBytes(3 * 1024 * 1024 + 7);
      expect(await put(objects, key, 'first')).toBe(5);
      const before = await objects.open(key);
      expect(await put(objects, key, large)).toBe(large.length);

      expect((await buffer(before!.content)).toString()).toBe('first'); // it was open before
      const found = (await objects.open(key))!;
      expect(found).toMatchObject({ key, bytes: large.length, modifiedAtMs: expect.any(Number) });
      expect((await buffer(found.content)).equals(large)).toBe(true);

      await objects.remove(key);
      await objects.remove(key);
      expect(await objects.open(key)).toBeUndefined();
      expect(await list(objects, key)).toEqual([]);
    });

    it('stores an empty object', async () => {
      const objects = await open();
      const key = randomUUID();
      expect(await put(objects, key, '')).toBe(0);
      expect(await read(objects, key)).toBe('');
      expect(await read(objects, key, { start: 0, end: 10 })).toBe('');
    });

    it.each([
      [{ start: 2, end: 5 }, 'cde'],
      [{ start: 7 }, 'hij'],
      [{ start: 0, end: 1 }, 'a'],
      [{ start: 8, end: 100 }, 'ij'],
      [{ start: 3, end: 3 }, ''],
      [{ start: 10, end: 20 }, ''],
    ])('reads the range %j', async (range, expected) => {
      const objects = await open();
      const key = randomUUID();
      await put(objects, key, 'abcdefghij');
      expect(await read(objects, key, range)).toBe(expected);
      const found = await objects.open(key, range);
      found?.content.destroy();
      expect(found).toMatchObject({ bytes: 10 });
    });

    it('keeps the earlier content if the stream fails', async () => {
      const objects = await open();
      const [key, fresh] = [randomUUID(), randomUUID()];
      await put(objects, key, 'first');
      const failing = async function* (): AsyncGenerator<Buffer> {
        yield Buffer.from('second');
        throw new Error('the client disconnected');
      };
      for (const each of [key, fresh]) {
        await expect(objects.put(each, failing())).rejects.toThrow('the client disconnected');
      }
      expect(await read(objects, key)).toBe('first');
      expect(await objects.open(fresh)).toBeUndefined();
      expect(await list(objects, fresh)).toEqual([]);
    });

    it('lists keys with a prefix by their bytes, in pages', async () => {
      const objects = await open();
      const place = randomUUID();
      const names = [
        'a',
        'a-b',
        'a/b',
        'a/b/c',
        'a/é',
        'a0',
        'b',
        'b%2F',
        'Z',
        '\u{1f511}',
        '\uffee',
        '..',
        '.x',
        'c:*?',
      ];
      const keys = names.map((each) => `${place}/${each}`);
      for (const key of keys.toReversed()) await put(objects, key);
      const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

      expect(await list(objects, `${place}/`)).toEqual(sorted);
      expect(await list(objects, `${place}/a`)).toEqual(sorted.filter((key) => key.startsWith(`${place}/a`)));
      expect(await list(objects, `${place}/a/`)).toEqual(sorted.filter((key) => key.startsWith(`${place}/a/`)));
      expect(await list(objects, `${place}/nothing`)).toEqual([]);
      expect(await list(objects, `${place}/`, undefined, 0)).toEqual([]);
      for (const after of [...sorted, `${place}/a.`, `${place}/a/`, `${place}/aa`, place]) {
        const rest = sorted.filter((key) => Buffer.compare(Buffer.from(key), Buffer.from(after)) > 0);
        expect(await list(objects, `${place}/`, after), after).toEqual(rest);
      }
      const paged: string[] = [];
      for (let page = await list(objects, `${place}/`, undefined, 4); page.length > 0; ) {
        paged.push(...page);
        page = await list(objects, `${place}/`, page.at(-1), 4);
      }
      expect(paged).toEqual(sorted);
      for (const key of keys) expect(await read(objects, key)).toBe(key);
    });

    it('stores and removes neighbors at the same time', async () => {
      const objects = await open();
      const place = randomUUID();
      await Promise.all(
        Array.from({ length: 40 }, async (_, index) => {
          const key = `${place}/deep/${index % 4}/${index}`;
          await put(objects, key);
          if (index % 2 === 0) await objects.remove(key);
        }),
      );
      expect(await list(objects, `${place}/`)).toHaveLength(20);
    });

    it.each([
      '',
      '/',
      'a/',
      '/a',
      'a//b',
      'x'.repeat(255),
      `${'y'.repeat(200)}/`.repeat(6).slice(0, -1),
      '\ud800',
    ])('rejects the key %j', async (key) => {
      const objects = await open();
      await expect(put(objects, key)).rejects.toThrow(ObjectKeyError);
      await expect(objects.open(key)).rejects.toThrow(ObjectKeyError);
      await expect(objects.remove(key)).rejects.toThrow(ObjectKeyError);
    });
  });
}

async function* pieces(content: Buffer, size = 100_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}
