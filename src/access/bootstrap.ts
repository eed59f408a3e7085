import { isDeepStrictEqual } from 'node:util';
import { currentTimeMs } from '../domain/clock.ts';
import { deriveUuid } from '../domain/ids.ts';
import { noRateLimits, type RateLimits, rateLimitNames } from '../domain/rate-limits.ts';
import type { ConsoleStore } from '../platform/storage/ports/console.ts';
import type { SavedPlugin } from '../domain/request-defaults.ts';
import { nanoUsdOf } from '../metering/cost.ts';
import type { AccessStore, RateLimitHolder } from '../platform/storage/ports/access.ts';
import { defaultKeySettings, type KeyRecord } from '../platform/storage/ports/keys.ts';
import { createSignInToken } from './console-sessions.ts';
import { createKeyLabel, createKeyText, hashKey } from './key-text.ts';

/** The part of the store that the bootstrap configuration uses. */
export type BootstrapStore = Pick<
  AccessStore,
  | 'listKeys'
  | 'listWorkspaces'
  | 'putWorkspace'
  | 'putMember'
  | 'setMemberships'
  | 'setRateLimits'
  | 'setDefaultPlugins'
  | 'putKey'
  | 'listBootstrapKeys'
  | 'markBootstrapKey'
>;

/** `bootstrap` of the configuration file, checked. Rate limits and plugins that are absent stay as they are. */
export interface BootstrapPlan {
  workspaces: (Partial<RateLimits> & {
    id?: string;
    name: string;
    /** `SavedPlugin`s. */
    default_plugins?: Record<string, unknown>[];
  })[];
  members: (Partial<RateLimits> & { id: string; workspaces: string[] })[];
  keys: (Partial<RateLimits> & {
    key: string;
    name: string;
    workspace?: string;
    member?: string;
    acts_as?: 'organization';
    kind?: 'inference' | 'management';
    disabled?: boolean;
    credit_usd?: number;
  })[];
}

/** The workspace that exists without configuration, and its member. */
export const DEFAULT_WORKSPACE = 'default';
export const DEFAULT_MEMBER = 'owner';

/** Creates or updates the objects of the configuration. Idempotent. @throws the store's error */
export async function applyBootstrap(store: BootstrapStore, plan: BootstrapPlan): Promise<void> {
  const now = currentTimeMs();
  const workspaces = await store.listWorkspaces();
  const idByName = new Map(workspaces.flatMap(({ id, name }) => [[name, id] as const, [id, id] as const]));
  for (const { id: wanted, name, default_plugins: plugins, ...limits } of plan.workspaces) {
    const id = wanted ?? idByName.get(name) ?? deriveId(name);
    if (!workspaces.some((known) => known.id === id && known.name === name)) {
      await store.putWorkspace({ id, name, createdAtMs: now });
    }
    idByName.set(name, id).set(id, id);
    await setRateLimits(store, { kind: 'workspace', id }, limits);
    if (plugins) await store.setDefaultPlugins(id, plugins as SavedPlugin[]); // checked
  }
  const idOf = (workspace: string): string => getWorkspaceId(idByName, workspace);
  for (const { id, workspaces: names, ...limits } of plan.members) {
    await store.putMember({ id, createdAtMs: now });
    await store.setMemberships(id, names.map(idOf));
    await setRateLimits(store, { kind: 'member', id }, limits);
  }
  const known = new Map((await store.listKeys()).map((key) => [key.hash, key]));
  const marked = new Set(await store.listBootstrapKeys());
  for (const key of plan.keys) {
    const record = readKey(key, idOf, now);
    const before = known.get(record.hash);
    if (before === undefined) await store.putKey(record);
    else {
      const after = { ...before, ...named(record), rateLimits: { ...before.rateLimits, ...readRateLimits(key) } };
      if (!isDeepStrictEqual(after, before)) await store.putKey({ ...after, updatedAtMs: now });
    }
    if (!marked.has(record.hash)) await store.markBootstrapKey(record.hash, true);
  }
}

/** Returns a function from names and ids of workspaces to their ids. */
export function findWorkspaceIds(workspaces: readonly { id: string; name: string }[]): (workspace: string) => string {
  const idByName = new Map(workspaces.flatMap(({ id, name }) => [[name, id] as const, [id, id] as const]));
  return (workspace) => getWorkspaceId(idByName, workspace);
}

function getWorkspaceId(idByName: ReadonlyMap<string, string>, workspace: string): string {
  const id = idByName.get(workspace);
  if (id === undefined) throw new Error(`bootstrap names the workspace ${workspace}, which does not exist.`);
  return id;
}

/** Finds keys that an earlier `bootstrap` defined and this one no longer names. @throws the store's error */
export async function findRemovedKeys(
  store: Pick<BootstrapStore, 'listKeys' | 'listBootstrapKeys'>,
  plan: Pick<BootstrapPlan, 'keys'>,
): Promise<KeyRecord[]> {
  const removed = new Set(await store.listBootstrapKeys());
  for (const { key } of plan.keys) removed.delete(hashKey(key));
  return removed.size === 0 ? [] : (await store.listKeys()).filter(({ hash }) => removed.has(hash));
}

/** Maximum number of keys that a message names. */
const NAMED = 10;

/** Names keys for a message: `"app" (0123456789ab)`. */
export function nameKeys(keys: readonly Pick<KeyRecord, 'name' | 'hash'>[]): string {
  const names = keys.slice(0, NAMED).map(({ name, hash }) => `"${name}" (${hash.slice(0, 12)})`);
  const more = keys.length > NAMED ? ` and ${keys.length - NAMED} more` : '';
  return `${names.join(', ')}${more}`;
}

/** Gateways that start at the same time on one store derive the same id. */
const deriveId = (name: string): string => deriveUuid('workspace', name);

function readKey(key: BootstrapPlan['keys'][number], idOf: (workspace: string) => string, now: number): KeyRecord {
  const isManagement = key.kind === 'management';
  return {
    ...defaultKeySettings,
    hash: hashKey(key.key),
    name: key.name,
    label: createKeyLabel(key.key),
    kind: isManagement ? 'management' : key.acts_as === 'organization' ? 'organization' : 'member',
    workspaceId: key.workspace === undefined ? '' : idOf(key.workspace),
    memberId: key.member ?? null,
    disabled: key.disabled ?? false,
    createdAtMs: now,
    creatorUserId: key.member ?? null,
    limitNanoUsd: key.credit_usd === undefined ? null : nanoUsdOf(key.credit_usd),
    rateLimits: { ...noRateLimits, ...readRateLimits(key) },
  };
}

/** The fields of a key that the file sets. Without a limit in the file, the management API owns the limit. */
function named({ name, kind, workspaceId, memberId, disabled, limitNanoUsd }: KeyRecord): Partial<KeyRecord> {
  const settings = { name, kind, workspaceId, memberId, disabled };
  return limitNanoUsd === null ? settings : { ...settings, limitNanoUsd, limitReset: null };
}

/** The limits that the file names, including 0. */
const readRateLimits = (entry: Partial<RateLimits>): Partial<RateLimits> =>
  Object.fromEntries(rateLimitNames.flatMap((name) => (entry[name] === undefined ? [] : [[name, entry[name]]])));

/** Calls the store only for an entry with a limit: most have none. */
async function setRateLimits(
  store: BootstrapStore,
  holder: RateLimitHolder,
  limits: Partial<RateLimits>,
): Promise<void> {
  if (Object.keys(limits).length > 0) await store.setRateLimits(holder, limits);
}

/**
 * Creates a workspace, its member, an inference key and a management key on the very first start, when there is no key.
 *
 * @returns the texts of the two keys, and of a link to the console with the rights of the management key. They are not
 *   stored. Undefined if there are keys already
 */
export async function createFirstKeys({
  access: store,
  console,
}: {
  access: BootstrapStore;
  console: Pick<ConsoleStore, 'addLink'>;
}): Promise<{ inference: string; management: string; signInToken: string } | undefined> {
  if ((await store.listKeys()).length > 0) return undefined;
  const now = currentTimeMs();
  const workspaces = await store.listWorkspaces();
  const workspaceId = workspaces[0]?.id ?? deriveId(DEFAULT_WORKSPACE);
  if (workspaces.length === 0) {
    await store.putWorkspace({ id: workspaceId, name: DEFAULT_WORKSPACE, createdAtMs: now });
  }
  await store.putMember({ id: DEFAULT_MEMBER, createdAtMs: now });
  await store.setMemberships(DEFAULT_MEMBER, [workspaceId]);
  const inference = createKeyText('inference');
  const management = createKeyText('management');
  const common = { ...defaultKeySettings, workspaceId, disabled: false, createdAtMs: now };
  await store.putKey({
    ...common,
    hash: hashKey(inference),
    name: 'first inference key',
    label: createKeyLabel(inference),
    kind: 'member',
    memberId: DEFAULT_MEMBER,
    creatorUserId: DEFAULT_MEMBER,
  });
  await store.putKey({
    ...common,
    hash: hashKey(management),
    name: 'first management key',
    label: createKeyLabel(management),
    kind: 'management',
    memberId: null,
    creatorUserId: null,
  });
  const signInToken = await createSignInToken(console, hashKey(management));
  return { inference, management, signInToken };
}
