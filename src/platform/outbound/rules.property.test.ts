import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { expect, it } from 'vitest';
import { checkUrl } from './check-url.ts';
import { OutboundError } from './outbound-error.ts';
import { AddressRules } from './rules.ts';

const rules = new AddressRules({ allow: [], deny: [], ports: [80] }, () => false);
const never = new AbortController().signal;
const noNames = () => Promise.reject(new Error('A name was resolved.'));

/** The address to connect to, or the reason why there is none. */
const judge = (url: string): Promise<string> =>
  checkUrl(url, rules, noNames, never).then(
    ({ addresses }) => addresses.join(),
    (error) => (error instanceof OutboundError ? error.reason : String(error)),
  );

/** Writes one part of an address in one of the bases that URLs support. */
const write = (value: number, base: 'decimal' | 'octal' | 'hex'): string =>
  base === 'decimal' ? String(value) : base === 'octal' ? `0${value.toString(8)}` : `0x${value.toString(16)}`;
const bases = fc.array(fc.constantFrom('decimal', 'octal', 'hex'), { minLength: 4, maxLength: 4 });

/** Every way to write 32 bits as one to four numbers. */
function spell(value: number, parts: number, [a, b, c, d]: readonly ('decimal' | 'octal' | 'hex')[]): string {
  const byte = (index: number) => (value >>> (24 - 8 * index)) & 0xff;
  const rest = (from: number) => value % 2 ** (32 - 8 * from);
  const head = [write(byte(0), a!), write(byte(1), b!), write(byte(2), c!)].slice(0, parts - 1);
  return [...head, write(rest(parts - 1), d!)].join('.');
}

const plain = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.');

it('an IPv4 address has one verdict in every spelling', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 0xffffffff }),
      fc.integer({ min: 1, max: 4 }),
      bases,
      fc.constantFrom('', '.'),
      async (value, parts, how, dot) => {
        const verdict = await judge(`http://${plain(value)}/`);
        expect(await judge(`http://${spell(value, parts, how)}${dot}/`)).toBe(verdict);
        expect([plain(value), 'blocked_address']).toContain(verdict);
      },
    ),
    { numRuns: 2000 },
  );
});

it.each([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])('nothing within %s is open', async (network) => {
  const [base, length] = ipaddr.IPv4.parseCIDR(network);
  const first = base.octets.reduce((sum, octet) => sum * 256 + octet, 0);
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 2 ** (32 - length) - 1 }), async (offset) => {
      expect(await judge(`http://${first + offset}/`)).toBe('blocked_address');
      const mapped = `[::ffff:${plain(first + offset)}]`;
      expect(await judge(`http://${mapped}/`)).toBe('blocked_address');
    }),
    { numRuns: 200 },
  );
});

it('no IPv6 address outside of global unicast is open', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 }), async (groups) => {
      const isGlobal = groups[0]! >>> 13 === 1;
      const verdict = await judge(`http://[${groups.map((group) => group.toString(16)).join(':')}]/`);
      if (!isGlobal) expect(verdict).toBe('blocked_address');
      else if (verdict !== 'blocked_address') expect(ipaddr.parse(verdict).range()).toBe('unicast');
    }),
    { numRuns: 2000 },
  );
});
