import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { noRules } from '../../../domain/guardrail.ts';
import type { GuardrailRecord } from '../ports/guardrails.ts';
import {
  allRows,
  change,
  createKeyRecord,
  createWorkspaceDetails,
  happening,
  type StoragePair,
  saveTestWorkspace,
} from './samples.ts';

/** Tests the contract of guardrails. */
export function testGuardrails(pair: () => StoragePair): void {
  describe('guardrails', () => {
    const makeGuardrail = (workspaceId: string, fields: Partial<GuardrailRecord> = {}): GuardrailRecord => ({
      id: randomUUID(),
      workspaceId,
      name: 'Größe',
      description: null,
      rules: noRules,
      limitNanoUsd: null,
      resetInterval: null,
      includeByokInBudgets: false,
      createdAtMs: 5,
      updatedAtMs: null,
      ...fields,
    });
    const saveGuardrails = (...guardrails: GuardrailRecord[]) =>
      pair().storage.management.change(change, async (transaction) => {
        for (const guardrail of guardrails) await transaction.saveGuardrail(guardrail);
        await transaction.record(happening());
      });

    it('keeps guardrails with all their rules, lists the oldest first, and deletes them with their workspace', async () => {
      const { access, management } = pair().storage;
      const workspace = createWorkspaceDetails();
      await saveTestWorkspace(pair(), workspace);
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
          builtinFilters: [
            { slug: 'regex-prompt-injection', action: 'block', scanScope: 'user_only', applyTo: ['input'] },
          ],
          customFilters: [
            { pattern: '\\d+\u{1f4e6}\0\ud800', action: 'flag', label: null, applyTo: ['input', 'output'] },
          ],
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
      expect((await management.listGuardrails(allRows)).rows).toEqual(expect.arrayContaining([full, empty]));
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

    it('assigns one guardrail to a key or a member, lists the oldest first, and drops those of deleted keys', async () => {
      const { access, management } = pair().storage;
      const workspace = createWorkspaceDetails();
      await saveTestWorkspace(pair(), workspace);
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
      expect(await management.listAssignments({ ...ofOne, offset: 1, limit: 1 })).toEqual({
        rows: [rows[1]],
        total: 2,
      });
      expect(await management.listAssignments({ ...ofOne, guardrailId: two.id })).toEqual({ rows: [], total: 0 });
      expect((await management.listAssignments({ ...allRows, kind: 'key' })).rows).toEqual(
        expect.arrayContaining(rows),
      );
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
  });
}
