import ipaddr from 'ipaddr.js';
import { classifyAddress } from './address.ts';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The addresses that the operator opens and closes. */
export interface RuleSettings {
  /** Networks, addresses and names (`*.` for all below one), with or without a port. */
  allow: readonly string[];
  deny: readonly string[];
  /** Ports that are open on every host. */
  ports: readonly number[];
}

/** One entry of such a list. */
interface Entry {
  network?: [Address, number];
  /** The name itself, or with a leading dot all names below it. */
  name?: string;
  port?: number;
}

/** `open`, or the problem: only the port, or the address at any port. */
export type AddressVerdict = 'open' | 'port' | 'address';

/** The addresses that the gateway may connect to. Pure. */
export class AddressRules {
  private readonly allow: readonly Entry[];
  private readonly deny: readonly Entry[];
  private readonly ports: ReadonlySet<number>;
  private readonly allPorts: ReadonlySet<number>;

  private readonly isOwn: (address: Address) => boolean;

  /**
   * Compiles the rules.
   *
   * @param isOwn whether it is an address of this machine; services there trust the gateway, even at a public address
   * @throws {Error} that quotes the entry, for the operator
   */
  constructor({ allow, deny, ports }: RuleSettings, isOwn: (address: Address) => boolean) {
    this.isOwn = isOwn;
    this.allow = allow.map(readEntry);
    this.deny = deny.map(readEntry);
    this.ports = new Set(ports);
    this.allPorts = new Set([...ports, ...this.allow.flatMap(({ port }) => port ?? [])]);
  }

  /** Whether any host may be fetched from at this port. */
  knowsPort(port: number): boolean {
    return this.allPorts.has(port);
  }

  /** Whether the operator opened the name itself. */
  opensName(name: string, port: number): boolean {
    return this.allow.some((entry) => isNamed(entry, name) && this.isPort(entry, port));
  }

  /**
   * Whether it is a name with a local meaning, or one of a metadata service.
   *
   * @param name lower case, without a final dot
   */
  refusesName(name: string, port: number): boolean {
    if (this.deny.some((entry) => isNamed(entry, name) && (entry.port ?? port) === port)) return true;
    return isLocalName(name) && !this.opensName(name, port);
  }

  /** @param name the name that resolved to the address; undefined: the address was in the URL */
  judge(address: Address, port: number, name: string | undefined): AddressVerdict {
    if (this.deny.some((entry) => isWithin(entry, address) && (entry.port ?? port) === port)) return 'address';
    const opened = this.allow.filter((entry) => isWithin(entry, address));
    const isNameOpen = name !== undefined && this.opensName(name, port);
    const isPortOpen = isNameOpen || this.ports.has(port) || opened.some((entry) => this.isPort(entry, port));
    const kind = classifyAddress(address) ?? (this.isOwn(address) ? 'private' : undefined);
    if (kind === undefined) return isPortOpen ? 'open' : 'port';
    const open = opened.filter((entry) => this.isPort(entry, port));
    if (kind === 'metadata') return open.some(isSingle) ? 'open' : 'address';
    return open.length > 0 || (kind === 'private' && isNameOpen) ? 'open' : 'address';
  }

  private isPort(entry: Entry, port: number): boolean {
    return entry.port === undefined ? this.ports.has(port) : entry.port === port;
  }
}

const isNamed = ({ name }: Entry, asked: string): boolean =>
  name !== undefined && (name.startsWith('.') ? asked.endsWith(name) : asked === name);

const isWithin = ({ network }: Entry, address: Address): boolean =>
  network !== undefined && network[0].kind() === address.kind() && address.match(network);

const isSingle = ({ network }: Entry): boolean =>
  network !== undefined && network[1] === (network[0].kind() === 'ipv4' ? 32 : 128);

/** Reserved by RFC 6761, 6762, 7686, 8375 and ICANN's collision list, or common in private networks. */
const localEndings = new Set([
  'localhost',
  'localdomain',
  'local',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'mail',
  'test',
  'example',
  'invalid',
  'onion',
  'alt',
  'arpa',
]);
/** Names of metadata services that have no such ending. */
const metadataNames = new Set([
  'metadata.goog',
  'metadata.azure.com',
  'metadata.tencentyun.com',
  'metadata.packet.net',
  'metadata.platformequinix.com',
]);

function isLocalName(name: string): boolean {
  const dot = name.lastIndexOf('.');
  if (dot === -1) return true; // its meaning depends on the search list of the machine
  return localEndings.has(name.slice(dot + 1)) || metadataNames.has(name);
}

/** Labels of host names; `_` is used in practice. */
export const isHostName = (text: string): boolean =>
  text.length <= 253 &&
  /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(text);

/**
 * Reads `10.0.0.0/8`, `10.1.2.3:9000`, `[fd00::1]:9000`, `fd00::/8`, `files.example.com:8081`, `*.example.com`.
 *
 * @throws {Error} that quotes the entry, for the operator
 */
export function readEntry(text: string): Entry {
  const wrong = (why: string) => new Error(`"${text}" ${why}`);
  const colons = text.split(':').length - 1;
  const [, host = '', digits] =
    /^\[([^\]]*)\](?::(\d+))?$/.exec(text) ?? (colons > 1 ? ['', text] : /^([^:[\]]+)(?::(\d+))?$/.exec(text)) ?? [];
  if (host === '') throw wrong('is not a network, address or host name, with or without a port');
  const port = digits === undefined ? undefined : Number(digits);
  if (port !== undefined && (port < 1 || port > 65_535)) throw wrong('has an invalid port');
  const at = port === undefined ? undefined : { port };
  const [address = '', bits] = host.split('/');
  if (ipaddr.IPv6.isValid(address) || ipaddr.IPv4.isValidFourPartDecimal(address)) {
    const parsed = ipaddr.parse(address);
    const max = parsed.kind() === 'ipv4' ? 32 : 128;
    if (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= max))
      throw wrong(`has no length from 0 to ${max} after its /`);
    return { network: [parsed, bits === undefined ? max : Number(bits)], ...at };
  }
  const name = host.toLowerCase().replace(/\.$/, '');
  const bare = name.replace(/^\*\./, '');
  if (bits !== undefined || !isHostName(bare) || /(?:^|\.)[0-9]+$/.test(bare))
    throw wrong('is not a network, address or host name, with or without a port');
  return { name: name.startsWith('*.') ? `.${bare}` : bare, ...at };
}
