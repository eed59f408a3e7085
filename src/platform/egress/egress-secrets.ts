import type { CertificateAuthority } from './certificate-authority.ts';
import { EgressRefusal } from './egress-refusal.ts';
import { findPlaceholders, type PutSecrets, putSecrets, type SecretPlaces } from './put-secrets.ts';
import type { SecretRelease } from './secret-release.ts';

/** Parts with which a proxy puts secrets into requests. */
export interface EgressSecrets {
  release: SecretRelease;
  /** Ends TLS of hosts that secrets are bound to. The sandbox trusts it. */
  authority: CertificateAuthority;
  /** Called if the vault cannot be read. The request is refused. */
  onFailure: (error: unknown) => void;
  /** PEM of the authorities that certify hosts. Absent: those of Node. */
  hostAuthorities?: string;
}

/** Whether a secret is bound to the host. @throws {EgressRefusal} if the vault cannot be read */
export const isBoundHost = ({ release, onFailure }: EgressSecrets, host: string): Promise<boolean> =>
  orRefuse(release.isBound(host), onFailure);

/**
 * Puts secrets into a request to a host that the client has named everywhere. Placeholders of other hosts stay.
 *
 * @throws {EgressRefusal} if the vault cannot be read, or a secret cannot replace its placeholder
 */
export async function releaseInto(
  { release, onFailure }: EgressSecrets,
  host: string,
  places: SecretPlaces & { headers: Map<string, string[]> },
): Promise<PutSecrets> {
  const placeholders = findPlaceholders(places);
  const released = placeholders.length === 0 ? [] : await orRefuse(release.release(host, placeholders), onFailure);
  if (released.length === 0) return { ...places, masked: [] };
  try {
    const put = putSecrets(places, released);
    put.headers.set('accept-encoding', ['identity']); // a compressed response could not be masked
    return put;
  } finally {
    for (const { value } of released) value.fill(0);
  }
}

async function orRefuse<Result>(result: Promise<Result>, onFailure: EgressSecrets['onFailure']): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    onFailure(error);
    throw new EgressRefusal(503, 'The vault is unavailable, so it is not known whether the request needs a secret.');
  }
}
