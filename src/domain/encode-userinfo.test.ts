import { expect, it } from 'vitest';
import { encodeUserinfo } from './encode-userinfo.ts';

const end = '127.0.0.1:5432/db?sslmode=require';

it.each([
  'p@ss',
  'p/ss',
  'a/b/c',
  'p#ss',
  'p?ss',
  '12/ss',
  'p:ss',
  'a@b/c#d?e',
  '50%off',
  '100%',
  'a b',
  'ü',
  '#',
  '@',
])('reads the password %j without escapes', (password) => {
  const url = new URL(encodeUserinfo(`postgres://ada:${password}@${end}`));
  expect([url.username, decodeURIComponent(url.password), url.host, url.pathname, url.search]).toEqual([
    'ada',
    password,
    '127.0.0.1:5432',
    '/db',
    '?sslmode=require',
  ]);
});

it.each([
  `postgres://ada:p%40ss%2Fword@${end}`,
  'postgres://host/db',
  'postgres:///db?host=/run/postgresql',
  'postgres://ada@host/db?application_name=a@b',
  'postgres://ada:secret@[::1]:5432/db',
  'redis://:secret@host:6379/1',
  'redis://default:secret@host',
  'file:/data/a@b.db',
  'memory',
  '',
])('does not change %s', (url) => expect(encodeUserinfo(url)).toBe(url));

it('does not change what it cannot read', () => {
  expect(encodeUserinfo('postgres://ada:p@ss@ho st/db')).toBe('postgres://ada:p@ss@ho st/db');
});

it('names a host if a socket does', () => {
  const socket = 'db?host=/cloudsql/project:region:name';
  expect(encodeUserinfo(`postgres://ada:p/ss@/${socket}`)).toBe(`postgres://ada:p%2Fss@localhost/${socket}`);
});
