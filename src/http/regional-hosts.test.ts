import { expect, it } from 'vitest';
import { checkHost } from './regional-hosts.ts';

const regional = ['eu.example.com', 'US.example.com:8443'];

it.each([
  'eu.example.com',
  'EU.Example.com',
  'eu.example.com:8787',
  'us.example.com:8443',
])('rejects the host %s', (host) => {
  expect(() => checkHost(host, regional)).toThrow(expect.objectContaining({ kind: 'permission_denied' }));
});

it.each([
  undefined,
  '',
  'example.com',
  'us.example.com',
  'us.example.com:80',
  'eu.example.com.evil.org',
  '[::1]:8787',
])('accepts the host %s', (host) => {
  expect(() => checkHost(host, regional)).not.toThrow();
});

it('accepts every host if none is regional', () => {
  expect(() => checkHost('eu.example.com', [])).not.toThrow();
});
