import ipaddr from 'ipaddr.js';

/**
 * The class of an address that is not public. A name can open `private` networks and the addresses of this machine.
 * Only an entry with their network opens `special` ones. Only an entry for the single address opens `metadata` ones,
 * because such a service returns credentials.
 */
export type AddressClass = 'private' | 'special' | 'metadata';

/**
 * Services that return the credentials of a machine. Most are in ranges that are rejected anyway, but some seem public.
 *
 * @see https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
 * @see https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
 */
const metadata = new Set(
  [
    '169.254.169.254',
    '169.254.170.2',
    '169.254.170.23',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
  ].map((address) => ipaddr.parse(address).toNormalizedString()),
);

const privateRanges = new Set(['private', 'loopback', 'uniqueLocal', 'carrierGradeNat']);
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** @returns undefined for a public address: global unicast, without an embedded address */
export function classifyAddress(address: ipaddr.IPv4 | ipaddr.IPv6): AddressClass | undefined {
  if (metadata.has(address.toNormalizedString())) return 'metadata';
  const range = address.range();
  if (privateRanges.has(range)) return 'private';
  if (range !== 'unicast') return 'special';
  if (address.kind() === 'ipv4') return undefined;
  const v6 = address as ipaddr.IPv6; // by its kind
  // ipaddr.js counts unassigned addresses and ::10.0.0.1 as unicast.
  return v6.match(globalUnicast) && !isTunnel(v6) ? undefined : 'special';
}

/** ISATAP: the last 32 bits are the IPv4 address at the end of a tunnel. @see RFC 5214 section 6.1 */
const isTunnel = ({ parts }: ipaddr.IPv6): boolean => (parts[4]! & 0xfdff) === 0 && parts[5] === 0x5efe;
