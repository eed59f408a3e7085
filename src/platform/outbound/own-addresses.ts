import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import type { Address } from './rules.ts';

/** Whether an address belongs to this machine. Reads the interfaces each time, because they change. */
export function isOwnAddress(address: Address): boolean {
  const asked = address.toNormalizedString();
  return Object.values(networkInterfaces()).some((entries) =>
    entries?.some((entry) => {
      const plain = entry.address.replace(/%.*$/, ''); // without a zone
      return ipaddr.isValid(plain) && ipaddr.parse(plain).toNormalizedString() === asked;
    }),
  );
}
