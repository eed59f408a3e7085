import { GatewayError } from '../../domain/errors.ts';
import { defaultLocations, type SecretLocation, secretLocations } from '../../domain/secret-location.ts';
import type { SealedSecret, SecretRecord, VaultRecord } from '../../platform/storage/ports/vaults.ts';
import { openVaultKey, readLocations, SecretReader, sealSecret } from '../../vault/secrets.ts';
import type { VaultKey } from '../../vault/vault-keys.ts';
import {
  findReadableVault,
  getWritableVault,
  type VaultCaller,
  type VaultManagementParts,
  type VaultPlace,
} from './find-vault.ts';
import { normalizeHosts, type PutSecretBody } from './schema.ts';

/** Maximum secrets of a vault: choice 666. */
export const MAX_SECRETS = 1000;
/** A write is repeated when another one, or a rotation, came first. */
const MAX_TRIES = 10;

/** The stored fields of a secret: its value with its hosts and locations. */
interface NewSecret {
  name: string;
  hosts: string[];
  locations: SecretLocation[];
  value: Buffer;
}

/**
 * Creates a secret, or replaces its value, its hosts and its locations.
 *
 * @throws {GatewayError} `not_found`; `conflict` if the vault is full
 */
export async function putSecret(
  parts: VaultManagementParts,
  caller: VaultCaller,
  place: VaultPlace,
  { name, value, hosts, locations }: PutSecretBody & { name: string },
): Promise<SecretRecord> {
  const bytes = Buffer.from(value, 'utf8');
  try {
    const vault = await getWritableVault(parts, caller, place);
    const wanted = locations ?? defaultLocations;
    const named = wanted.map((each) => each.toLowerCase() as SecretLocation).filter((each) => each.includes(':')); // names of headers
    const sorted = [...secretLocations.filter((each) => wanted.includes(each)), ...new Set(named)];
    const secret = { name, hosts: normalizeHosts(hosts), locations: sorted, value: bytes };
    return (await writeSecrets(parts, caller, vault, [secret]))[0]!; // one for each
  } finally {
    bytes.fill(0);
  }
}

/**
 * Copies secrets of the workspace into the vault of an intern, all or none. The copies are independent of the originals.
 *
 * @returns in the order of the names
 * @throws {GatewayError} `not_found`; `conflict` if the vault is full
 */
export async function copySecrets(
  parts: VaultManagementParts,
  caller: VaultCaller,
  internId: string,
  names: readonly string[],
): Promise<SecretRecord[]> {
  const target = await getWritableVault(parts, caller, { internId });
  const source = await parts.vaults.findWorkspaceVault(caller.workspaceId);
  const found = source ? await parts.vaults.findSecrets(source.id, names) : [];
  const secrets: NewSecret[] = [];
  try {
    using reader = new SecretReader(parts);
    for (const row of found) {
      const read = await reader.read(row);
      if (!read) continue;
      const { hosts } = read.secret;
      secrets.push({ name: row.name, hosts, locations: [...readLocations(read.secret)], value: read.value });
    }
    const missing = names.find((name) => !secrets.some((secret) => secret.name === name));
    if (missing !== undefined) {
      throw new GatewayError('not_found', `The workspace has no secret with the name ${missing}.`);
    }
    const written = await writeSecrets(parts, caller, target, secrets);
    return names.map((name) => written.find((secret) => secret.name === name)!); // one for each
  } finally {
    for (const { value } of secrets) value.fill(0);
  }
}

/** @throws {GatewayError} `not_found` */
export async function deleteSecret(
  parts: VaultManagementParts,
  caller: VaultCaller,
  place: VaultPlace,
  name: string,
): Promise<void> {
  const readable = await findReadableVault(parts, caller, place);
  const vault = readable && (await getWritableVault(parts, caller, place));
  const change = { atMs: parts.now(), actorKeyHash: caller.keyHash };
  if (vault && (await parts.vaults.deleteSecret(vault.id, name, change))) return;
  throw new GatewayError('not_found', `There is no secret with the name ${name}.`);
}

/** Encrypts and stores secrets, all or none. Reads the vault again if it was changed meanwhile. */
async function writeSecrets(
  parts: VaultManagementParts,
  { keyHash }: VaultCaller,
  { id }: VaultRecord,
  secrets: readonly NewSecret[],
): Promise<SealedSecret[]> {
  const { vaults, now } = parts;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const vault = await vaults.findVault(id);
    if (!vault) break;
    const before = await vaults.findSecrets(
      id,
      secrets.map(({ name }) => name),
    );
    const nowMs = now();
    using key = await openVaultKey(parts, vault);
    const sealed = secrets.map((secret) => sealNext(key, secret, before, nowMs));
    const put = { vaultId: id, generation: key.generation, secrets: sealed, maxSecrets: MAX_SECRETS };
    const refusal = await vaults.putSecrets(put, { atMs: nowMs, actorKeyHash: keyHash });
    if (refusal === undefined) return sealed;
    if (refusal === 'limit') throw new GatewayError('conflict', `A vault can have at most ${MAX_SECRETS} secrets.`);
    if (refusal === 'vault') break;
    if (tries === MAX_TRIES - 1) {
      throw new GatewayError('unavailable', 'The vault is being changed; try again.', { retryAfterSeconds: 1 });
    }
  }
  throw new GatewayError('not_found', 'The vault does not exist.');
}

/** Encrypts the next version of a secret. It keeps the time of its first version. */
function sealNext(
  key: VaultKey,
  { name, hosts, locations, value }: NewSecret,
  before: readonly SealedSecret[],
  nowMs: number,
): SealedSecret {
  const known = before.find((secret) => secret.name === name);
  const createdAtMs = known?.createdAtMs ?? Math.round(nowMs);
  return sealSecret(key, { name, hosts, locations, version: (known?.version ?? 0) + 1, createdAtMs }, value);
}
