import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isVisiblePath, readContainerFileId, writeContainerFileId } from './container-file-id.ts';

describe('ids of container files', () => {
  it('are a function of the path', () => {
    expect(writeContainerFileId('out/report.csv')).toBe('cfile_b3V0L3JlcG9ydC5jc3Y');
    expect(readContainerFileId('cfile_b3V0L3JlcG9ydC5jc3Y')).toBe('out/report.csv');
  });

  it('are decoded to every path', () => {
    const bytes = fc.uint8Array({ minLength: 1, maxLength: 60 }).map((path) => Buffer.from(path).toString('latin1'));
    fc.assert(
      fc.property(bytes, (path) => {
        expect(readContainerFileId(writeContainerFileId(path))).toBe(path);
      }),
    );
  });

  it.each([
    '',
    'cfile_',
    'cfile',
    'file_YQ',
    'cfile_YQ==',
    'cfile_YR',
    'cfile_Y',
    'cfile_Y+8',
    'cfile_ YQ',
    'cfile_YQ\n',
  ])('are not %j', (id) => {
    expect(readContainerFileId(id)).toBeUndefined();
  });

  it.each(['a', 'a/b', 'a b', '.hidden', '..a', 'a..', '\xc3\xa4', 'a\n'])('show the path %j', (path) => {
    expect(isVisiblePath(path)).toBe(true);
  });

  it.each([
    '',
    '/',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    '../a',
    'a/../b',
    'a/.',
    'a\0',
    '\xff',
    'a\xc3',
  ])('hide the path %j', (path) => {
    expect(isVisiblePath(path)).toBe(false);
  });
});
