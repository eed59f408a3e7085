import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteStorage } from '../platform/storage/sqlite/open.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { applyBootstrap, type BootstrapPlan, createFirstKeys, findRemovedKeys, nameKeys } from './bootstrap.ts';
import { hashKey } from './key-text.ts';

const stores: Storage[] = [];
let storage: Storage;
async function open(): Promise<Storage> {
  const opened = await openSqliteStorage(':memory:');
  stores.push(opened);
  await opened.migrate();
  return opened;
}
beforeEach(async () => {
  storage = await open();
});
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

const plan = (fields: Partial<BootstrapPlan> = {}): BootstrapPlan => ({
  workspaces: [{ id: '00000000-0000-4000-8000-0000000000a1', name: 'main' }, { name: 'other' }],
  members: [{ id: 'ada', workspaces: ['main', 'other'] }],
  keys: [
    { key: 'key-of-ada', name: 'app', workspace: 'main', member: 'ada' },
    { key: 'key-of-all', name: 'org', workspace: 'other', acts_as: 'organization' },
    { key: 'key-of-admin', name: 'admin', kind: 'management' },
  ],
  ...fields,
});
const readAll = async ({ access }: Storage) => ({
  revision: await access.readRevision(),
  keys: await access.listKeys(),
  workspaces: await access.listWorkspaces(),
  members: await access.listMembers(),
  memberships: await access.listMemberships(),
});

describe('bootstrap', () => {
  it('creates workspaces, members and keys of every kind', async () => {
    await applyBootstrap(storage.access, plan());
    const { keys, workspaces, memberships } = await readAll(storage);
    const idOf = (name: string) => workspaces.find((workspace) => workspace.name === name)!.id;
    expect(idOf('main')).toBe('00000000-0000-4000-8000-0000000000a1');
    expect(memberships).toHaveLength(2);
    const find = (text: string) => keys.find(({ hash }) => hash === hashKey(text));
    expect(find('key-of-ada')).toMatchObject({ kind: 'member', memberId: 'ada', workspaceId: idOf('main') });
    expect(find('key-of-all')).toMatchObject({ kind: 'organization', memberId: null, workspaceId: idOf('other') });
    expect(find('key-of-admin')).toMatchObject({ kind: 'management', memberId: null, workspaceId: '' });
  });

  it('changes nothing when it is applied again', async () => {
    await applyBootstrap(storage.access, plan());
    const before = await readAll(storage);
    await applyBootstrap(storage.access, plan());
    expect(await readAll(storage)).toEqual(before);
  });

  it('changes what the file sets, and leaves the rest', async () => {
    await applyBootstrap(storage.access, plan());
    const [app] = plan().keys;
    await applyBootstrap(storage.access, plan({ keys: [{ ...app!, disabled: true, name: 'renamed' }] }));
    const { keys } = await readAll(storage);
    expect(keys).toHaveLength(3);
    expect(keys.find(({ hash }) => hash === hashKey('key-of-ada'))).toMatchObject({ disabled: true, name: 'renamed' });
  });

  it('finds the keys that the file no longer names, and no others', async () => {
    const [app, org, admin] = plan().keys;
    const find = async (...keys: (typeof app)[]) =>
      nameKeys(await findRemovedKeys(storage.access, { keys: keys.map((key) => key!) }));
    await createFirstKeys(storage);
    await applyBootstrap(storage.access, plan());
    expect(await find(app, org, admin)).toBe('');
    expect(await find(app, admin)).toBe(`"org" (${hashKey(org!.key).slice(0, 12)})`);
    expect(await find(app)).toMatch(/^"(org|admin)" \(\w+\), "(org|admin)" \(\w+\)$/);
  });

  it('sets the limit of a key with credit_usd, and leaves the limits of others', async () => {
    const [app] = plan().keys;
    const apply = async (fields: object) => {
      await applyBootstrap(storage.access, plan({ keys: [{ ...app!, ...fields }] }));
      return (await storage.access.listKeys()).find(({ hash }) => hash === hashKey(app!.key))!;
    };
    expect(await apply({ credit_usd: 0 })).toMatchObject({ limitNanoUsd: 0n, limitReset: null });
    const raised = await apply({ credit_usd: 2.5 });
    expect(raised).toMatchObject({ limitNanoUsd: 2_500_000_000n });
    const revision = await storage.access.readRevision();
    expect(await apply({ credit_usd: 2.5 })).toEqual(raised);
    expect(await storage.access.readRevision()).toBe(revision);
    await storage.access.putKey({ ...raised, limitNanoUsd: 7n, limitReset: 'daily' });
    expect(await apply({})).toMatchObject({ limitNanoUsd: 7n, limitReset: 'daily' });
    expect(await apply({ credit_usd: 1 })).toMatchObject({ limitNanoUsd: 1_000_000_000n, limitReset: null });
  });

  it('sets the rate limits that it names, even to none, and leaves the others to the management API', async () => {
    const read = async () => {
      const [key] = (await storage.access.listKeys()).filter(({ name }) => name === 'app');
      const [member] = await storage.access.listMembers();
      const settings = await storage.access.listAppliedSettings();
      return [key!.rateLimits, member!.rateLimits, settings[0]?.rateLimits];
    };
    const apply = async (limits: object) => {
      const { workspaces, members, keys } = plan();
      const first = <Entry>([one, ...others]: Entry[]): Entry[] => [{ ...one!, ...limits }, ...others];
      await applyBootstrap(storage.access, {
        workspaces: first(workspaces),
        members: first(members),
        keys: first(keys),
      });
    };
    const limits = { requests_per_minute: 5, tokens_per_minute: 0, concurrent_requests: 0 };
    await apply({ requests_per_minute: 5 });
    expect(await read()).toEqual([limits, limits, limits]);
    const revision = await storage.access.readRevision();
    await apply({ requests_per_minute: 5 });
    expect(await storage.access.readRevision()).toBe(revision);
    await apply({ concurrent_requests: 2 });
    const both = { ...limits, concurrent_requests: 2 };
    expect(await read()).toEqual([both, both, both]);
    await apply({});
    expect(await read()).toEqual([both, both, both]);
    await apply({ requests_per_minute: 0 });
    const streams = { ...both, requests_per_minute: 0 };
    expect(await read()).toEqual([streams, streams, streams]);
  });

  it('derives the same UUID for a workspace without an id on every host', async () => {
    const ids: string[] = [];
    for (const store of [storage, await open()]) {
      await applyBootstrap(store.access, plan());
      ids.push((await store.access.listWorkspaces()).find(({ name }) => name === 'other')!.id);
    }
    expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(ids[1]).toBe(ids[0]);
  });

  it('names an unknown workspace', async () => {
    await expect(
      applyBootstrap(storage.access, plan({ members: [{ id: 'ada', workspaces: ['nowhere'] }] })),
    ).rejects.toThrow('bootstrap names the workspace nowhere, which does not exist.');
  });
});

describe('the first keys', () => {
  it('are created if there is none, once, in the workspace default', async () => {
    const first = await createFirstKeys(storage);
    const { keys, workspaces } = await readAll(storage);
    expect(keys.map(({ hash }) => hash).sort()).toEqual([hashKey(first!.inference), hashKey(first!.management)].sort());
    expect(workspaces).toMatchObject([{ name: 'default' }]);
    expect(keys).toContainEqual(expect.objectContaining({ kind: 'member', memberId: 'owner' }));
    expect(keys).toContainEqual(expect.objectContaining({ kind: 'management', memberId: null }));
    expect(await createFirstKeys(storage)).toBeUndefined();
  });

  it('are not created if the configuration has a key, and belong to its workspace if it has only that', async () => {
    await applyBootstrap(storage.access, plan({ keys: [], members: [] }));
    await createFirstKeys(storage);
    expect(await storage.access.listWorkspaces()).toHaveLength(2);
    const other = await open();
    await applyBootstrap(other.access, plan());
    expect(await createFirstKeys(other)).toBeUndefined();
  });
});
