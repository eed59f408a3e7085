import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { inTurns } from '../../domain/in-turns.ts';
import type { CertificateAuthority } from './certificate-authority.ts';
import { EgressRefusal } from './egress-refusal.ts';
import { findPlaceholders, MAX_VALUE_BYTES, type PutPlaces, putSecrets, type SecretPlaces } from './put-secrets.ts';
import { EgressMask } from './egress-mask.ts';
import type { ReleasedSecret, SecretRelease } from './secret-release.ts';

/** Parts with which a proxy puts secrets into requests. */
export interface EgressSecrets {
  release: SecretRelease;
  /** Ends TLS of hosts that secrets are bound to. The sandbox trusts it. */
  authority: CertificateAuthority;
  /** Called if the vault cannot be read. The request is refused. */
  onFailure: (error: unknown) => void;
  /** The name of the gateway itself, which receives no secrets. */
  ownHost?: string | undefined;
  /** PEM of the authorities that certify hosts. Absent: those of Node. */
  hostAuthorities?: string;
}

/** Values of one host together. Their forms need a multiple of that in memory. */
const MAX_BYTES = 131_072;
/** A secret that is replaced at the same time needs one more. */
const MAX_TRIES = 3;

/** A connection or a response. */
type User = EventEmitter & { destroyed: boolean };

/** The hosts that the secrets of one sandbox are bound to. Values are in memory only while a connection uses their host. */
export class BoundHosts {
  private readonly secrets: EgressSecrets;
  private readonly hosts = new Map<string, BoundHost>();
  /** Connections with responses of hosts without secrets. */
  private readonly unmasked = new Map<string, Set<Socket>>();

  constructor(secrets: EgressSecrets) {
    this.secrets = secrets;
  }

  /** Whether a secret is bound to the host. @throws {EgressRefusal} if the vault cannot be read */
  async isBound(host: string): Promise<boolean> {
    const { release, ownHost } = this.secrets;
    return host !== ownHost && orRefuse(release.isBound(host), this.secrets);
  }

  /**
   * Reads the secrets of a host.
   *
   * @param user keeps them until it closes
   * @returns undefined: none is bound to it
   * @throws {EgressRefusal} if the vault cannot be read
   */
  async open(host: string, user: User): Promise<BoundHost | undefined> {
    if (host === this.secrets.ownHost) return undefined;
    if (user.destroyed) throw new EgressRefusal(502, 'The client has disconnected.'); // it would never close
    const opened = this.hosts.get(host) ?? new BoundHost(host, this.secrets, () => this.hosts.delete(host));
    this.hosts.set(host, opened);
    opened.keep(user);
    await opened.refresh();
    if (!opened.isBound) return undefined;
    for (const client of this.unmasked.get(host) ?? []) client.destroy();
    return opened;
  }

  /** Remembers a connection until `user` closes. It is destroyed if a secret is bound to its host meanwhile. */
  addUnmasked(host: string, client: Socket, user: User = client): void {
    const clients = this.unmasked.get(host) ?? new Set();
    this.unmasked.set(host, clients.add(client));
    user.once('close', () => {
      clients.delete(client);
      if (clients.size === 0) this.unmasked.delete(host);
    });
  }
}

/** A host with the secrets that are bound to it. */
export class BoundHost {
  /** Reads which secrets there are, and their values if that has changed. @throws {EgressRefusal} */
  readonly refresh: () => Promise<void>;
  isBound = false;
  /** Whether one may be put into a body. */
  takesBodies = false;
  private readonly host: string;
  private readonly secrets: EgressSecrets;
  private readonly onUnused: () => void;
  private readonly users = new Set<User>();
  private versions: ReadonlySet<string> = new Set();
  private current = new EgressMask([]);

  constructor(host: string, secrets: EgressSecrets, onUnused: () => void) {
    this.host = host;
    this.secrets = secrets;
    this.onUnused = onUnused;
    this.refresh = inTurns(() => this.read());
  }

  /** Finds the values of all its secrets. Another one takes its place when these change. */
  get mask(): EgressMask {
    return this.current;
  }

  keep(user: User): void {
    if (this.users.has(user)) return; // a tunnel has many requests
    this.users.add(user);
    user.once('close', () => {
      this.users.delete(user);
      if (this.users.size > 0) return;
      this.current.close();
      this.onUnused();
    });
  }

  /**
   * Puts secrets into a request.
   *
   * @throws {EgressRefusal} if the vault cannot be read, or a secret cannot replace its placeholder
   */
  async put(places: SecretPlaces): Promise<PutPlaces> {
    const placeholders = findPlaceholders(places);
    for (let tries = 0; placeholders.length > 0 && tries < MAX_TRIES; tries++) {
      const released = await this.release(placeholders);
      try {
        if (released.every(({ version }) => this.versions.has(version))) return putSecrets(places, released);
      } finally {
        clear(released);
      }
      await this.refresh();
    }
    if (placeholders.length === 0) return putSecrets(places, []);
    throw new EgressRefusal(503, 'The secrets are being changed; try again.');
  }

  private async read(): Promise<void> {
    const listed = await orRefuse(this.secrets.release.list(this.host), this.secrets);
    this.isBound = listed.length > 0;
    if (listed.length === this.versions.size && listed.every(({ version }) => this.versions.has(version))) return;
    const released = await this.release(listed.map(({ placeholder }) => placeholder));
    try {
      const masked = released.map(({ value }) => value).filter(({ length }) => length <= MAX_VALUE_BYTES);
      if (masked.reduce((sum, { length }) => sum + length, 0) > MAX_BYTES) {
        const text = `The secrets of ${this.host} have more than ${MAX_BYTES} bytes, so its responses cannot be masked.`;
        throw new EgressRefusal(403, text);
      }
      const before = this.current;
      this.current = new EgressMask(masked);
      before.close();
      this.versions = new Set(released.map(({ version }) => version));
      this.takesBodies = released.some(({ locations }) => locations.includes('body'));
    } finally {
      clear(released);
    }
  }

  private release(placeholders: string[]): Promise<ReleasedSecret[]> {
    return orRefuse(this.secrets.release.release(this.host, placeholders), this.secrets);
  }
}

const clear = (released: readonly ReleasedSecret[]): void => {
  for (const { value } of released) value.fill(0);
};

async function orRefuse<Result>(
  result: Promise<Result>,
  { onFailure }: Pick<EgressSecrets, 'onFailure'>,
): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    onFailure(error);
    throw new EgressRefusal(503, 'The vault is unavailable, so it is not known whether the request needs a secret.');
  }
}
