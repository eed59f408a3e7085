import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileHostList } from './host-list.ts';

describe('the allowlist of hosts', () => {
  it.each([
    [['pypi.org'], 'pypi.org', true],
    [['pypi.org'], 'www.pypi.org', false],
    [['pypi.org'], 'pypi.org.evil.com', false],
    [['*.pypi.org'], 'files.pypi.org', true],
    [['*.pypi.org'], 'a.b.pypi.org', true],
    [['*.pypi.org'], 'pypi.org', false],
    [['*.pypi.org'], 'evilpypi.org', false],
    [['*pypi.org'], 'pypi.org', true],
    [['api.*.example.org'], 'api.eu.example.org', true],
    [['api.*.example.org'], 'api.example.org', false],
    [['a*b*c'], 'a-b-b-c', true],
    [['a*b*c'], 'a-b-b', false],
    [['*'], 'anything.org', true],
    [['*'], '93.184.216.34', true],
    [['*'], '2606:4700::1111', true],
    [['93.184.216.34'], '93.184.216.34', false],
    [['93.*', '*.34', '**'], '93.184.216.34', false],
    [[], 'pypi.org', false],
    [['x.org', 'y.org'], 'y.org', true],
    [['a.c'], 'abc', false],
  ])('%j has %s: %s', (entries, host, expected) => {
    expect(compileHostList(entries)(host)).toBe(expected);
  });

  it('matches like a regular expression', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 8 });
    fc.assert(
      fc.property(text, text, (glob, host) => {
        fc.pre(!host.includes('*') && glob.includes('*'));
        const expression = new RegExp(`^${glob.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
        expect(compileHostList([glob])(host)).toBe(expression.test(host));
      }),
    );
  });
});
