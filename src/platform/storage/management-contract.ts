import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { noRules } from '../../domain/guardrail.ts';
import { createId } from '../../domain/ids.ts';
import { noRateLimits } from '../../domain/rate-limits.ts';
import { createKeyRecord } from './access-contract.ts';
import {
  type AuditEvent,
  type BudgetInterval,
  defaultWorkspaceSettings,
  type GuardrailRecord,
  type Storage,
  type WorkspaceDetails,
} from './storage.ts';

const happening = (fields: Partial<AuditEvent> = {}): AuditEvent => ({
  action: 'test.change',
  objectKind: 'test',
  objectId: randomUUID(),
  workspaceId: null,
  changes: {},
  ...fields,
});

/** A workspace that no other test has; `fields` replace. */
export const createWorkspaceDetails = (fields: Partial<WorkspaceDetails> = {}): WorkspaceDetails => {
  const id = fields.id ?? randomUUID();
  return {
    id,
    name: `name of ${id}`,
    slug: `slug-${id}`,
    createdAtMs: 1_790_000_000_000,
    updatedAtMs: null,
    settings: { ...defaultWorkspaceSettings },
    ...fields,
  };
};

/** The part of `contract.ts` about the management API. */
export function testManagementStore(pair: () => { storage: Storage; other: Storage }): void {
  const change = { atMs: 1_790_000_000_005, actorKeyHash: 'f'.repeat(64) };
  const save = (workspace: WorkspaceDetails) =>
    pair().storage.management.change(change, async (transaction) => {
      await transaction.saveWorkspace(workspace);
      await transaction.record(happening());
    });
  const all = { offset: 0, limit: 1_000_000 };

  it('makes a change, records it and raises the revision, for every process at once', async () => {
    const { storage, other } = pair();
    const key = createKeyRecord({ limitNanoUsd: 5n });
    const told = happening({
      objectId: key.hash,
      workspaceId: key.workspaceId,
      changes: { name: { before: null, after: 'Größe \0 \ud83d' } },
    });
    const before = await other.access.readRevision();

    const result = await storage.management.change(change, async (transaction) => {
      await transaction.putKey(key);
      await transaction.record(told);
      return 'done';
    });

    expect(result).toBe('done');
    expect(await other.access.readRevision()).toBe(before + 1);
    expect(await other.management.findKey(key.hash)).toEqual(key);
    const { rows } = await other.management.listAudit({ offset: 0, limit: 1 });
    expect(rows).toEqual([{ ...told, ...change, id: expect.stringMatching(/^audit_[0-9A-Za-z]{24}$/) }]);
  });

  it.each([
    ['the work fails', true],
    ['nothing is recorded', false],
  ])('changes nothing when %s', async (_, fails) => {
    const { access, management } = pair().storage;
    const key = createKeyRecord();
    const before = [await access.readRevision(), (await management.listAudit(all)).total];

    const made = management.change(change, async (transaction) => {
      await transaction.putKey(key);
      if (!fails) return;
      await transaction.record(happening());
      throw new Error('not so');
    });

    if (fails) await expect(made).rejects.toThrow('not so');
    else await made;
    expect([await access.readRevision(), (await management.listAudit(all)).total]).toEqual(before);
    expect(await management.findKey(key.hash)).toBeUndefined();
  });

  it('makes changes of two processes one after the other, and lists them in their order, the newest first', async () => {
    const { storage, other } = pair();
    const id = randomUUID();
    await save(createWorkspaceDetails({ id, name: `${id} 0` }));
    const count = async (by: Storage) =>
      by.management.change(change, async (transaction) => {
        const found = (await transaction.findWorkspace(id))!;
        const number = Number(found.name.split(' ')[1]) + 1;
        await transaction.saveWorkspace({ ...found, name: `${id} ${number}` });
        await transaction.record(happening({ action: `first ${number}`, objectId: id }));
        await transaction.record(happening({ action: `second ${number}`, objectId: id }));
      });
    await Promise.all(Array.from({ length: 20 }, (_, index) => count(index % 2 === 0 ? storage : other)));

    expect((await storage.management.findWorkspace(id))?.name).toBe(`${id} 20`);
    const { rows } = await other.management.listAudit(all);
    const expected = Array.from({ length: 20 }, (_, index) => [`second ${20 - index}`, `first ${20 - index}`]).flat();
    expect(rows.filter((row) => row.objectId === id).map((row) => row.action)).toEqual(expected);
    expect(await other.management.listAudit({ offset: 1, limit: 2 })).toMatchObject({ rows: rows.slice(1, 3) });
  });

  it('lists inference keys of a workspace or of all, the newest first, page by page', async () => {
    const { access, management } = pair().storage;
    const workspaceId = randomUUID();
    const times = [1, 2, 3, 4].map((ms) => 1_990_000_000_000 + ms);
    const keys = times.map((createdAtMs, index) =>
      createKeyRecord({ workspaceId, createdAtMs, disabled: index === 2 }),
    );
    for (const key of keys) await access.putKey(key);
    await access.putKey(createKeyRecord({ workspaceId, kind: 'management', createdAtMs: times[3]! + 1 }));
    const [first, second, third, fourth] = keys;

    const list = (query: object) =>
      management.listKeys({ workspaceId, includeDisabled: true, offset: 0, limit: 9, ...query });
    expect(await list({})).toEqual([fourth, third, second, first]);
    expect(await list({ includeDisabled: false })).toEqual([fourth, second, first]);
    expect(await list({ offset: 1, limit: 2 })).toEqual([third, second]);
    expect(await list({ workspaceId: randomUUID() })).toEqual([]);
    expect((await list({ workspaceId: undefined, limit: 1 }))[0]).toEqual(fourth);
  });

  it('deletes a key, counts the inference keys of a workspace and finds whose they are', async () => {
    const { access, management } = pair().storage;
    const workspaceId = randomUUID();
    const key = createKeyRecord({ workspaceId, memberId: 'ada' });
    await access.putKey(key);
    await access.putKey(createKeyRecord({ workspaceId, memberId: 'ben', disabled: true }));
    await access.putKey(createKeyRecord({ workspaceId, kind: 'management', memberId: null }));

    await management.change(change, async (transaction) => {
      expect(await transaction.countKeys(workspaceId)).toBe(2);
      expect(await transaction.findKeyOwners(workspaceId, ['ada', 'ben', 'cleo'])).toEqual(['ada']);
      await transaction.deleteKey(key.hash);
      expect(await transaction.countKeys(workspaceId)).toBe(1);
      await transaction.record(happening());
    });
    expect(await management.findKey(key.hash)).toBeUndefined();
    expect((await access.listKeys()).some(({ hash }) => hash === key.hash)).toBe(false);
  });

  it('keeps a workspace with all its settings, finds it by id, slug and name, and an id outweighs a slug', async () => {
    const { management } = pair().storage;
    const workspace = createWorkspaceDetails({
      name: `Zürich ${randomUUID()}`,
      settings: {
        description: 'two\nlines \0',
        defaultTextModel: 'acme/one',
        defaultImageModel: 'acme/two',
        defaultProviderSort: 'price',
        ioLogging: true,
        broadcast: true,
        dataDiscountLogging: true,
        ioLoggingSamplingRate: 0.0001,
        ioLoggingApiKeyIds: [1, 2],
        includeByokInBudgets: true,
        rateLimits: { requests_per_minute: 1, tokens_per_minute: 2, concurrent_streams: 3 },
      },
    });
    await save(workspace);
    await save(createWorkspaceDetails({ slug: workspace.id, createdAtMs: 1 }));

    expect(await management.findWorkspace(workspace.id)).toEqual(workspace);
    expect(await management.findWorkspace(workspace.slug)).toEqual(workspace);
    expect(await management.findWorkspace('nothing\0')).toBeUndefined();
    const changed = { ...workspace, name: `${workspace.name}!`, slug: `new-${workspace.slug}`, updatedAtMs: 7 };
    await save({ ...changed, createdAtMs: 99 });
    expect(await management.findWorkspace(workspace.id)).toEqual(changed);
    const [oldest] = (await management.listWorkspaces({ offset: 0, limit: 1 })).rows;
    await management.change(change, async (transaction) => {
      expect(await transaction.findWorkspaceByName(changed.name)).toEqual(changed);
      expect(await transaction.findDefaultWorkspace(changed.name)).toEqual(changed);
      expect(await transaction.findDefaultWorkspace('nobody')).toEqual(oldest);
    });
  });

  it('gives a workspace that comes with a name alone a slug that no other has, and keeps it', async () => {
    const { access, management } = pair().storage;
    const mark = createId('').slice(0, 8).toLowerCase();
    const ids = [randomUUID(), randomUUID(), randomUUID()] as const;
    for (const id of ids) await access.putWorkspace({ id, name: `  Größe: ${mark}! `, createdAtMs: 1 });
    await access.putWorkspace({ id: ids[0], name: 'renamed', createdAtMs: 1 });

    const slugs = await Promise.all(ids.map(async (id) => (await management.findWorkspace(id))?.slug));
    expect(slugs).toEqual([`grosse-${mark}`, `grosse-${mark}-2`, `grosse-${mark}-3`]);
    await expect(save(createWorkspaceDetails({ slug: `grosse-${mark}` }))).rejects.toThrow();
  });

  it('lists workspaces oldest first, page by page', async () => {
    const { management } = pair().storage;
    const own = [3, 4, 5].map((ms) => createWorkspaceDetails({ createdAtMs: 2_900_000_000_000 + ms }));
    for (const workspace of own.toReversed()) await save(workspace);

    const { rows, total } = await management.listWorkspaces(all);
    expect(total).toBe(rows.length);
    expect(rows.slice(-3)).toEqual(own);
    expect(await management.listWorkspaces({ offset: total - 2, limit: 1 })).toEqual({ rows: [own[1]], total });
  });

  it('keeps one budget for each interval, the broadest first, and drops them with their workspace', async () => {
    const { access, management } = pair().storage;
    const workspace = createWorkspaceDetails();
    await save(workspace);
    const make = (interval: BudgetInterval, limitNanoUsd: bigint, atMs: number) => ({
      ...{ id: randomUUID(), workspaceId: workspace.id, interval, limitNanoUsd, createdAtMs: atMs, updatedAtMs: atMs },
    });
    const [daily, lifetime, monthly] = [make('daily', 1n, 5), make('lifetime', 2n ** 60n, 5), make('monthly', 9n, 5)];
    await access.putMember({ id: workspace.id, createdAtMs: 1 });
    await management.change(change, async (transaction) => {
      for (const budget of [daily, lifetime, monthly]) await transaction.putBudget(budget);
      await transaction.putBudget(make('daily', 2n, 6));
      const membership = { workspaceId: workspace.id, memberId: workspace.id, role: 'member' as const, createdAtMs: 3 };
      await transaction.joinWorkspace(membership);
      await transaction.record(happening());
    });

    const changed = { ...daily, limitNanoUsd: 2n, updatedAtMs: 6 };
    expect(await management.listBudgets(workspace.id)).toEqual([lifetime, monthly, changed]);
    await management.change(change, async (transaction) => {
      await transaction.deleteBudget(workspace.id, 'monthly');
      await transaction.record(happening());
    });
    expect(await management.listBudgets(workspace.id)).toEqual([lifetime, changed]);
    await management.change(change, async (transaction) => {
      await transaction.deleteWorkspace(workspace.id);
      await transaction.record(happening());
    });
    expect(await management.findWorkspace(workspace.id)).toBeUndefined();
    expect(await management.listBudgets(workspace.id)).toEqual([]);
    expect((await access.listMemberships()).some(({ workspaceId }) => workspaceId === workspace.id)).toBe(false);
  });

  it('sums what was paid in, and knows when nothing ever was', async () => {
    const { storage, other } = pair();
    const add = (nanoUsd: bigint, note: string | null) =>
      storage.management.change(change, async (transaction) => {
        await transaction.addCredit({ id: randomUUID(), atMs: 5, nanoUsd, note });
        await transaction.record(happening());
      });
    expect(await other.management.readCredits()).toBeNull();
    await add(2n ** 60n, 'paid\0');
    await add(-5n, null);
    expect(await other.management.readCredits()).toBe(2n ** 60n - 5n);
    await add(5n - 2n ** 60n, null);
    expect(await other.management.readCredits()).toBe(0n);
    await storage.management.change(change, async (transaction) => {
      await transaction.deleteCredits();
      await transaction.record(happening());
    });
    expect(await other.management.readCredits()).toBeNull();
  });

  it('keeps who belongs to a workspace, since when and as what', async () => {
    const { access, management } = pair().storage;
    const workspace = createWorkspaceDetails();
    await save(workspace);
    const [ada, ben, cleo] = ['ada', 'ben', 'cleo'].map((name) => `${name} ${workspace.id}`) as [
      string,
      string,
      string,
    ];
    await management.change(change, async (transaction) => {
      for (const [index, memberId] of [ada, ben].entries()) {
        expect(await transaction.findMember(memberId)).toBeUndefined();
        const member = { id: memberId, createdAtMs: 1, rateLimits: noRateLimits };
        await transaction.saveMember(member);
        expect(await transaction.findMember(memberId)).toEqual(member);
        const membership = { workspaceId: workspace.id, memberId, role: 'member' as const, createdAtMs: 20 - index };
        await transaction.joinWorkspace(membership);
        await transaction.joinWorkspace({ ...membership, createdAtMs: 99 });
      }
      await transaction.record(happening());
    });
    await access.putMember({ id: cleo, createdAtMs: 1 });
    await access.setMemberships(cleo, [workspace.id]);

    const page = { offset: 0, limit: 10 };
    const { rows, total } = await management.listWorkspaceMembers(workspace.id, page);
    expect(total).toBe(3);
    expect(rows).toEqual([
      { workspaceId: workspace.id, memberId: ben, role: 'member', createdAtMs: 19 },
      { workspaceId: workspace.id, memberId: ada, role: 'member', createdAtMs: 20 },
      { workspaceId: workspace.id, memberId: cleo, role: 'member', createdAtMs: expect.any(Number) },
    ]);
    expect(await management.listWorkspaceMembers(workspace.id, { offset: 1, limit: 1 })).toEqual({
      ...{ rows: [rows[1]], total: 3 },
    });
    await management.change(change, async (transaction) => {
      expect(await transaction.findWorkspaceMembers(workspace.id, [ada, 'nobody'])).toEqual([rows[1]]);
      await transaction.leaveWorkspace(workspace.id, ada);
      await transaction.record(happening());
    });
    expect(await management.listWorkspaceMembers(workspace.id, page)).toEqual({ rows: [rows[0], rows[2]], total: 2 });
  });

  it('replaces a member by its id, all but the time of its creation, and lists members oldest first', async () => {
    const { storage, other } = pair();
    const ids = [randomUUID(), randomUUID()] as const;
    const [late, later] = [3_000_000_000_001, 3_000_000_000_002];
    await storage.access.putMember({ id: ids[1], createdAtMs: later });
    await storage.access.putMember({ id: ids[0], createdAtMs: late });
    const rateLimits = { requests_per_minute: 5, tokens_per_minute: 10 ** 12, concurrent_streams: 0 };
    await storage.management.change(change, async (transaction) => {
      await transaction.saveMember({ id: ids[1], createdAtMs: 1, rateLimits });
      await transaction.record(happening());
    });

    const changed = { id: ids[1], createdAtMs: later, rateLimits };
    expect(await other.management.findMember(ids[1])).toEqual(changed);
    expect(await other.management.findMember('nobody\0')).toBeUndefined();
    const { rows, total } = await other.management.listMembers(all);
    expect(rows.slice(-2)).toEqual([{ id: ids[0], createdAtMs: late, rateLimits: noRateLimits }, changed]);
    expect(await other.management.listMembers({ offset: total - 1, limit: 1 })).toEqual({ rows: [changed], total });
  });

  const makeGuardrail = (workspaceId: string, fields: Partial<GuardrailRecord> = {}): GuardrailRecord => ({
    ...{ id: randomUUID(), workspaceId, name: 'Größe', description: null, rules: noRules },
    ...{ limitNanoUsd: null, resetInterval: null, includeByokInBudgets: false, createdAtMs: 5, updatedAtMs: null },
    ...fields,
  });
  const saveGuardrails = (...guardrails: GuardrailRecord[]) =>
    pair().storage.management.change(change, async (transaction) => {
      for (const guardrail of guardrails) await transaction.saveGuardrail(guardrail);
      await transaction.record(happening());
    });

  it('keeps guardrails with all their rules, lists them oldest first, and drops them with their workspace', async () => {
    const { access, management } = pair().storage;
    const workspace = createWorkspaceDetails();
    await save(workspace);
    const full = makeGuardrail(workspace.id, {
      description: 'two\nlines \u{1f4e6}',
      rules: {
        allowedModels: ['acme/*'],
        ignoredModels: ['acme/one'],
        allowedProviders: ['Beta Cloud'],
        ignoredProviders: ['beta/flex'],
        zeroRetention: { anthropic: true, openai: false, google: null, xai: null, other: true },
        paidTraining: false,
        freeTraining: true,
        freePublication: null,
      },
      limitNanoUsd: 2n ** 60n,
      resetInterval: 'weekly',
      includeByokInBudgets: true,
    });
    const empty = makeGuardrail(workspace.id, { createdAtMs: 6 });
    await saveGuardrails(empty, full);

    expect(await management.findGuardrail(full.id)).toEqual(full);
    expect(await management.findGuardrail('nothing\0')).toBeUndefined();
    const of = { workspaceId: workspace.id, offset: 0, limit: 9 };
    expect(await management.listGuardrails(of)).toEqual({ rows: [full, empty], total: 2 });
    expect(await management.listGuardrails({ ...of, offset: 1, limit: 1 })).toEqual({ rows: [empty], total: 2 });
    expect((await management.listGuardrails(all)).rows).toEqual(expect.arrayContaining([full, empty]));
    const changed = { ...full, name: 'new', rules: noRules, limitNanoUsd: null, resetInterval: null, updatedAtMs: 7 };
    await saveGuardrails({ ...changed, createdAtMs: 99 });
    expect(await management.findGuardrail(full.id)).toEqual(changed);
    expect((await access.listAppliedGuardrails()).guardrails).toEqual(
      expect.arrayContaining([
        { ...changed, workspaceName: workspace.name },
        { ...empty, workspaceName: workspace.name },
      ]),
    );

    await management.change(change, async (transaction) => {
      await transaction.deleteGuardrail(empty.id);
      expect(await transaction.findGuardrail(empty.id)).toBeUndefined();
      await transaction.deleteWorkspace(workspace.id);
      await transaction.record(happening());
    });
    expect(await management.listGuardrails(of)).toEqual({ rows: [], total: 0 });
  });

  it('gives a key or a member one guardrail, lists who has which, oldest first, and forgets keys that are deleted', async () => {
    const { access, management } = pair().storage;
    const workspace = createWorkspaceDetails();
    await save(workspace);
    const [one, two] = [makeGuardrail(workspace.id), makeGuardrail(workspace.id)];
    await saveGuardrails(one, two);
    const keys = [
      createKeyRecord({ workspaceId: workspace.id }),
      createKeyRecord({ workspaceId: workspace.id }),
    ] as const;
    for (const key of keys) await access.putKey(key);
    const member = { kind: 'member' as const, holder: `ada ${workspace.id}` };
    const [first, second] = keys.map(({ hash }) => ({ kind: 'key' as const, holder: hash })) as [
      { kind: 'key'; holder: string },
      { kind: 'key'; holder: string },
    ];

    await management.change(change, async (transaction) => {
      await transaction.assign({ ...second, guardrailId: one.id, createdAtMs: 9 });
      await transaction.assign({ ...first, guardrailId: two.id, createdAtMs: 7 });
      await transaction.assign({ ...first, guardrailId: one.id, createdAtMs: 8 });
      await transaction.assign({ ...member, guardrailId: one.id, createdAtMs: 8 });
      expect(await transaction.findAssigned(first)).toBe(one.id);
      expect(await transaction.findAssigned({ kind: 'member', holder: first.holder })).toBeUndefined();
      await transaction.record(happening());
    });
    const rows = [
      { ...first, guardrailId: one.id, createdAtMs: 8, keyName: keys[0].name, keyLabel: keys[0].label },
      { ...second, guardrailId: one.id, createdAtMs: 9, keyName: keys[1].name, keyLabel: keys[1].label },
    ];
    const ofOne = { kind: 'key' as const, guardrailId: one.id, offset: 0, limit: 9 };
    expect(await management.listAssignments(ofOne)).toEqual({ rows, total: 2 });
    expect(await management.listAssignments({ ...ofOne, offset: 1, limit: 1 })).toEqual({ rows: [rows[1]], total: 2 });
    expect(await management.listAssignments({ ...ofOne, guardrailId: two.id })).toEqual({ rows: [], total: 0 });
    expect((await management.listAssignments({ ...all, kind: 'key' })).rows).toEqual(expect.arrayContaining(rows));
    expect((await management.listAssignments({ ...ofOne, kind: 'member' })).rows).toEqual([
      { ...member, guardrailId: one.id, createdAtMs: 8, keyName: null, keyLabel: null },
    ]);
    const applied = async () => {
      const { assignments } = await access.listAppliedGuardrails();
      return assignments.filter(({ guardrailId }) => guardrailId === one.id).map(({ holder }) => holder);
    };
    expect((await applied()).toSorted()).toEqual([first.holder, second.holder, member.holder].toSorted());

    await management.change(change, async (transaction) => {
      await transaction.deleteKey(first.holder);
      await transaction.unassign(second);
      await transaction.record(happening());
    });
    expect(await applied()).toEqual([member.holder]);
    await management.change(change, async (transaction) => {
      await transaction.deleteGuardrail(one.id);
      await transaction.record(happening());
    });
    expect(await applied()).toEqual([]);
  });
}
