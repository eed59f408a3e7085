import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readS3Key, writeS3Key } from './s3-key.ts';

const bytewise = (a: string, b: string): number => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));
/** Texts with many characters that are encoded. */
const keys = fc
  .array(
    fc.oneof(
      fc.constantFrom('/', '.', '..', '!', '~', ' ', '\0', '\u001f', '\u007f', 'X', '-', '0'),
      fc.string({ unit: 'binary' }),
    ),
    {
      maxLength: 6,
    },
  )
  .map((parts) => parts.join(''));

describe('names of keys in a bucket', () => {
  it.each([
    ['files/0000/file_wAb', 'files/0000/file_wAb'],
    ['a b!~é\u{1f511}+%', 'a!Wb!X~0é\u{1f511}+%'],
    ['\0\u001f\u007f', '!0!V~1'],
    ['../.x/a.b/.', '.-./.-x/a.b/.-'],
  ])('write %j as %j', (key, name) => {
    expect(writeS3Key(key)).toBe(name);
    expect(readS3Key(name)).toBe(key);
  });

  it('are read back, and have no segment that a URL loses', () => {
    fc.assert(
      fc.property(keys, (key) => {
        const name = writeS3Key(key);
        expect(readS3Key(name)).toBe(key);
        expect(name.split('/')).not.toContain('.');
        expect(name.split('/')).not.toContain('..');
        expect(name).not.toMatch(/[\0- \u007f]/);
      }),
    );
  });

  it('have the order of the keys, and the prefixes', () => {
    fc.assert(
      fc.property(keys, keys, (a, b) => {
        expect(bytewise(writeS3Key(a), writeS3Key(b))).toBe(bytewise(a, b));
        expect(writeS3Key(a + b).startsWith(writeS3Key(a))).toBe(true);
        expect(writeS3Key(a).startsWith(writeS3Key(b))).toBe(a.startsWith(b));
      }),
    );
  });

  it.each(['a b', '!', '!Y', '!é', '~', '~2', '.x', 'a/..', '\n'])('are none of %j', (name) => {
    expect(readS3Key(name)).toBeUndefined();
  });
});
