import ipaddr from 'ipaddr.js';

/**
 * What an address is when it is no public one. `private` networks and the machine's own can be opened to a name;
 * `special` ones only by their network; `metadata` only one by one, since such a service hands out credentials.
 */
export type AddressClass = 'private' | 'special' | 'metadata';

/**
 * Services that tell a machine its credentials. Most lie in ranges that are refused anyway, some look public.
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

/** @returns undefined for a public address: global unicast, without another address inside */
export function classifyAddress(address: ipaddr.IPv4 | ipaddr.IPv6): AddressClass | undefined {
  if (metadata.has(address.toNormalizedString())) return 'metadata';
  const range = address.range();
  if (privateRanges.has(range)) return 'private';
  if (range !== 'unicast') return 'special';
  if (address.kind() === 'ipv4') return undefined;
  const v6 = address as ipaddr.IPv6; // as its kind says
  // ipaddr.js counts as unicast what nobody has assigned yet, and ::10.0.0.1.
  return v6.match(globalUnicast) && !isTunnel(v6) ? undefined : 'special';
}

/** ISATAP: the last 32 bits are an IPv4 address that a tunnel leads to. @see RFC 5214 section 6.1 */
const isTunnel = ({ parts }: ipaddr.IPv6): boolean => (parts[4]! & 0xfdff) === 0 && parts[5] === 0x5efe;
