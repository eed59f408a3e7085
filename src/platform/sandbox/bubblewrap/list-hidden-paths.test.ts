import { expect, it } from 'vitest';
import { listHiddenPaths } from './list-hidden-paths.ts';

it('returns what exists below /usr, once, and nothing that commands need', () => {
  const paths = [
    '/usr/share/doc',
    '/usr/share/../share/doc',
    '/usr/bin',
    '/usr',
    '/etc',
    '/usr/no-such-folder',
    '/bin',
  ];
  expect(listHiddenPaths(paths)).toEqual([{ path: '/usr/share/doc', isFolder: true }]);
  expect(listHiddenPaths(['/usr/share/doc/bash', '/usr/share/doc', '/usr/bin/env'])).toEqual([
    { path: '/usr/share/doc', isFolder: true },
    { path: '/usr/bin/env', isFolder: false },
  ]);
});
