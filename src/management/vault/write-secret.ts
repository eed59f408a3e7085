import type { SecretRecord } from '../../platform/storage/ports/vaults.ts';
import { readLocations } from '../../vault/secrets.ts';
import { writeTime } from '../write-time.ts';
import type { EffectiveSecret } from './list-secrets.ts';

/** `Secret` of the interface. It never has the value. @see docs/reference/vault.md */
export const writeSecret = ({ name, hosts, locations, fingerprint, createdAtMs }: SecretRecord) => ({
  name,
  hosts,
  locations: readLocations({ locations }),
  fingerprint,
  created_at: writeTime(createdAtMs),
});

export const writeEffectiveSecret = (secret: EffectiveSecret) => ({ ...writeSecret(secret), scope: secret.scope });
