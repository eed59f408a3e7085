import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ManagementTransaction } from '../ports/management.ts';
import type { PresetRecord, PresetVersionRecord } from '../ports/presets.ts';
import { allRows, change, createWorkspaceDetails, happening, type StoragePair, saveTestWorkspace } from './samples.ts';

/** Tests the contract of presets. */
export function testPresets(pair: () => StoragePair): void {
  const edit = (work: (transaction: ManagementTransaction) => Promise<unknown>) =>
    pair().storage.management.change(change, async (transaction) => {
      await work(transaction);
      await transaction.record(happening());
    });
  const createPreset = (workspaceId: string, fields: Partial<PresetRecord> = {}): PresetRecord => ({
    id: randomUUID(),
    workspaceId,
    slug: `slug-${randomUUID()}`,
    name: 'Zürich 📦',
    description: null,
    status: 'active',
    statusUpdatedAtMs: null,
    designatedVersionId: randomUUID(),
    creatorMemberId: 'ada',
    createdAtMs: 1_790_000_000_000,
    updatedAtMs: 1_790_000_000_000,
    ...fields,
  });
  const createVersion = ({ id, designatedVersionId }: PresetRecord, version = 1): PresetVersionRecord => ({
    id: version === 1 ? designatedVersionId : randomUUID(),
    presetId: id,
    version,
    config: '{"temperature":0.5,"tools":[]}',
    systemPrompt: 'two\nlines',
    creatorId: 'ada',
    createdAtMs: 1_790_000_000_000 + version,
  });
  const openWorkspace = async (): Promise<string> => {
    const workspace = createWorkspaceDetails();
    await saveTestWorkspace(pair(), workspace);
    return workspace.id;
  };
  const save = (preset: PresetRecord, ...versions: PresetVersionRecord[]) =>
    edit(async (transaction) => {
      await transaction.savePreset(preset);
      for (const version of versions) await transaction.addPresetVersion(version);
    });

  describe('presets', () => {
    it('are found with their versions by another process, and by no other workspace', async () => {
      const [workspaceId, foreign] = [await openWorkspace(), await openWorkspace()];
      const preset = createPreset(workspaceId);
      const versions = [createVersion(preset), createVersion(preset, 2)];
      await save(preset, ...versions);

      const { management } = pair().other;
      expect(await management.findPreset(workspaceId, preset.slug)).toEqual(preset);
      expect(await management.findPreset(foreign, preset.slug)).toBeUndefined();
      expect(await management.findPreset(workspaceId, 'nothing\0')).toBeUndefined();
      expect(await management.findDesignatedVersion(preset.designatedVersionId)).toEqual(versions[0]);
      expect(await management.findPresetVersion(preset.id, 2)).toEqual(versions[1]);
      expect(await management.findPresetVersion(preset.id, 3)).toBeUndefined();
      expect(await management.listPresetVersions(preset.id, allRows)).toEqual({
        rows: versions.toReversed(),
        total: 2,
      });
      expect(await management.listPresetVersions(preset.id, { offset: 1, limit: 1 })).toEqual({
        rows: [versions[0]],
        total: 2,
      });
    });

    it('change, except for their creator and creation time', async () => {
      const workspaceId = await openWorkspace();
      const preset = createPreset(workspaceId);
      const second = createVersion(preset, 2);
      await save(preset, createVersion(preset));
      const changed: PresetRecord = {
        ...preset,
        slug: `new-${preset.slug}`,
        name: 'new',
        description: 'two\nlines',
        status: 'archived',
        statusUpdatedAtMs: 7,
        designatedVersionId: second.id,
        updatedAtMs: 8,
      };
      await save({ ...changed, creatorMemberId: 'ben', createdAtMs: 9 }, second);
      expect(await pair().other.management.findPreset(workspaceId, changed.slug)).toEqual(changed);
      expect(await pair().other.management.findPreset(workspaceId, preset.slug)).toBeUndefined();
    });

    it('are listed oldest first, page by page', async () => {
      const workspaceId = await openWorkspace();
      const own = [5, 3, 4].map((createdAtMs) => createPreset(workspaceId, { createdAtMs }));
      for (const preset of own) await save(preset, createVersion(preset));
      const [third, first, second] = own;
      const { management } = pair().other;
      expect(await management.listPresets(workspaceId, allRows)).toEqual({ rows: [first, second, third], total: 3 });
      expect(await management.listPresets(workspaceId, { offset: 1, limit: 1 })).toEqual({ rows: [second], total: 3 });
    });

    it('have a slug of their own in a workspace, and numbers of versions of their own', async () => {
      const [workspaceId, other] = [await openWorkspace(), await openWorkspace()];
      const preset = createPreset(workspaceId);
      await save(preset, createVersion(preset));
      const same = createPreset(workspaceId, { slug: preset.slug });
      await expect(save(same, createVersion(same))).rejects.toThrow();
      await expect(save(preset, { ...createVersion(preset), id: randomUUID() })).rejects.toThrow();
      const elsewhere = createPreset(other, { slug: preset.slug });
      await save(elsewhere, createVersion(elsewhere));
      expect(await pair().other.management.findPreset(other, preset.slug)).toEqual(elsewhere);
    });

    it('raise the revision, and are read by the gateway as designated', async () => {
      const { storage, other } = pair();
      const workspaceId = await openWorkspace();
      const preset = createPreset(workspaceId, { status: 'disabled' });
      const [first, second] = [createVersion(preset), createVersion(preset, 2)];
      const before = await other.access.readRevision();
      await save(preset, first, second);
      expect(await other.access.readRevision()).toBeGreaterThan(before);
      const read = async () =>
        (await other.access.listDesignatedPresets()).filter((each) => each.workspaceId === workspaceId);
      const designated = { workspaceId, slug: preset.slug, status: 'disabled' };
      expect(await read()).toEqual([{ ...designated, versionId: first.id, version: 1 }]);
      await save({ ...preset, designatedVersionId: second.id });
      expect(await read()).toEqual([{ ...designated, versionId: second.id, version: 2 }]);

      const found = await storage.access.readPresetSettings([second.id, randomUUID(), first.id]);
      expect(new Map(found.map((each) => [each.id, each]))).toEqual(
        new Map([first, second].map(({ id, config, systemPrompt }) => [id, { id, config, systemPrompt }])),
      );
      expect(await storage.access.readPresetSettings([])).toEqual([]);
    });

    it('are deleted with their versions, alone or with their workspace', async () => {
      const { other } = pair();
      const workspaceId = await openWorkspace();
      const [one, two] = [createPreset(workspaceId), createPreset(workspaceId)];
      for (const preset of [one, two]) await save(preset, createVersion(preset));
      await edit((transaction) => transaction.deletePreset(one.id));
      expect((await other.management.listPresets(workspaceId, allRows)).rows).toEqual([two]);
      expect(await other.management.findDesignatedVersion(one.designatedVersionId)).toBeUndefined();
      await edit((transaction) => transaction.deleteWorkspace(workspaceId));
      expect(await other.management.listPresets(workspaceId, allRows)).toEqual({ rows: [], total: 0 });
      expect(await other.management.findDesignatedVersion(two.designatedVersionId)).toBeUndefined();
    });
  });
}
