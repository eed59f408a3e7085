import type { SecretLocation } from '../../domain/secret-location.ts';

/** The secrets that the proxy of one sandbox puts into requests. Processes of the sandbox have only placeholders. */
export interface SecretRelease {
  /**
   * Whether a secret may be put into requests to exactly this host.
   *
   * @param host a lower-case name without a final dot
   * @throws {GatewayError} if the vault is unavailable
   */
  isBound(host: string): Promise<boolean>;
  /**
   * Lists the secrets that are bound to the host, without their values.
   *
   * @throws {GatewayError} if the vault is unavailable
   */
  list(host: string): Promise<BoundSecret[]>;
  /**
   * Opens secrets for a request to a host. Unknown placeholders, and those of secrets that are not bound to the host, are
   * left out.
   *
   * @throws {GatewayError} if the vault is unavailable, or a secret cannot be decrypted
   */
  release(host: string, placeholders: readonly string[]): Promise<ReleasedSecret[]>;
}

export interface BoundSecret {
  placeholder: string;
  /** Differs for each value that the secret had. */
  version: string;
}

/** A secret for one request. */
export interface ReleasedSecret extends BoundSecret {
  name: string;
  locations: readonly SecretLocation[];
  /** UTF-8. The proxy overwrites it with zeros after use. */
  value: Buffer;
}

/** A name, two underscores and a keyed hash of 32 digits. Names of secrets never contain two underscores. */
export const placeholderPattern = /hgsecret_([a-z][a-z0-9]*(?:_[a-z0-9]+)*)__[0-9a-f]{32}/g;
