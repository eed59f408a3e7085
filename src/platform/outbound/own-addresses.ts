import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import type { Address } from './rules.ts';

/** Read each time, because interfaces change. */
export function isOwnAddress(address: Address): boolean {
  const asked = address.toNormalizedString();
  return Object.values(networkInterfaces()).some((entries) =>
    entries?.some((entry) => {
      const plain = entry.address.replace(/%.*$/, ''); // a zone
      return ipaddr.isValid(plain) && ipaddr.parse(plain).toNormalizedString() === asked;
    }),
  );
}
