import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createId } from '../../../domain/ids.ts';
import type { WorkspaceSettings } from '../ports/workspaces.ts';
import { createWorkspaceDetails, type StoragePair, change, saveTestWorkspace, allRows } from './samples.ts';

/** Tests the contract of workspaces. */
export function testWorkspaces(pair: () => StoragePair): void {
  describe('workspaces', () => {
    const addWorkspace = async (settings: Partial<WorkspaceSettings>): Promise<string> => {
      const workspace = createWorkspaceDetails();
      await saveTestWorkspace(pair(), { ...workspace, settings: { ...workspace.settings, ...settings } });
      return workspace.id;
    };

    it('renames a workspace and keeps its creation time', async () => {
      const { access } = pair().storage;
      const id = randomUUID();
      await access.putWorkspace({ id, name: 'main', createdAtMs: 5 });
      await access.putWorkspace({ id, name: 'Größe 📦', createdAtMs: 6 });

      expect((await access.listWorkspaces()).filter((workspace) => workspace.id === id)).toEqual([
        { id, name: 'Größe 📦', createdAtMs: 5 },
      ]);
    });

    it('keeps a workspace with all its settings, and finds it by id, then by slug, and by name', async () => {
      const { management } = pair().storage;
      const workspace = createWorkspaceDetails({
        name: `Zürich ${randomUUID()}`,
        settings: {
          description: 'two\nlines \0',
          defaultTextModel: 'acme/one',
          defaultImageModel: 'acme/two',
          defaultProviderSort: 'price',
          defaultPlugins: [{ id: 'auto-router', cost_tier: 'low', prevent_overrides: true }],
          disabledServerTools: ['router:bash'],
          ioLogging: true,
          broadcast: true,
          dataDiscountLogging: true,
          ioLoggingSamplingRate: 0.0001,
          ioLoggingApiKeyIds: [1, 2],
          includeByokInBudgets: true,
          ledgerRetentionDays: 0,
          rateLimits: { requests_per_minute: 1, tokens_per_minute: 2, concurrent_requests: 3 },
        },
      });
      await saveTestWorkspace(pair(), workspace);
      await saveTestWorkspace(pair(), createWorkspaceDetails({ slug: workspace.id, createdAtMs: 1 }));

      expect(await management.findWorkspace(workspace.id)).toEqual(workspace);
      expect(await management.findWorkspace(workspace.slug)).toEqual(workspace);
      expect(await management.findWorkspace('nothing\0')).toBeUndefined();
      const changed = { ...workspace, name: `${workspace.name}!`, slug: `new-${workspace.slug}`, updatedAtMs: 7 };
      await saveTestWorkspace(pair(), { ...changed, createdAtMs: 99 });
      expect(await management.findWorkspace(workspace.id)).toEqual(changed);
      const [oldest] = (await management.listWorkspaces({ offset: 0, limit: 1 })).rows;
      await management.change(change, async (transaction) => {
        expect(await transaction.findWorkspaceByName(changed.name)).toEqual(changed);
        expect(await transaction.findDefaultWorkspace(changed.name)).toEqual(changed);
        expect(await transaction.findDefaultWorkspace('nobody')).toEqual(oldest);
      });
    });

    it('gives a workspace without a slug a unique one, and keeps it', async () => {
      const { access, management } = pair().storage;
      const mark = createId('').slice(0, 8).toLowerCase();
      const ids = [randomUUID(), randomUUID(), randomUUID()] as const;
      for (const id of ids) await access.putWorkspace({ id, name: `  Größe: ${mark}! `, createdAtMs: 1 });
      await access.putWorkspace({ id: ids[0], name: 'renamed', createdAtMs: 1 });

      const slugs = await Promise.all(ids.map(async (id) => (await management.findWorkspace(id))?.slug));
      expect(slugs).toEqual([`grosse-${mark}`, `grosse-${mark}-2`, `grosse-${mark}-3`]);
      await expect(saveTestWorkspace(pair(), createWorkspaceDetails({ slug: `grosse-${mark}` }))).rejects.toThrow();
    });

    it('lists workspaces oldest first, page by page', async () => {
      const { management } = pair().storage;
      const own = [3, 4, 5].map((ms) => createWorkspaceDetails({ createdAtMs: 2_900_000_000_000 + ms }));
      for (const workspace of own.toReversed()) await saveTestWorkspace(pair(), workspace);

      const { rows, total } = await management.listWorkspaces(allRows);
      expect(total).toBe(rows.length);
      expect(rows.slice(-3)).toEqual(own);
      expect(await management.listWorkspaces({ offset: total - 2, limit: 1 })).toEqual({ rows: [own[1]], total });
    });

    it('lists the settings of workspaces that apply to requests: content logging and defaults', async () => {
      const none = await addWorkspace({ description: 'says nothing' });
      const every = await addWorkspace({ ioLogging: true, defaultTextModel: 'router/auto' });
      const some = await addWorkspace({ ioLogging: true, ioLoggingSamplingRate: 0.25, ioLoggingApiKeyIds: [2 ** 47] });
      const defaults = {
        defaultImageModel: 'acme/painter',
        defaultProviderSort: 'price',
        defaultPlugins: [{ id: 'response-healing' }],
        disabledServerTools: ['router:bash'],
      };
      const empty = await addWorkspace({ defaultPlugins: [], disabledServerTools: [] });
      const silent = await addWorkspace(defaults);

      const all = await pair().other.access.listAppliedSettings();
      const find = (id: string) => all.filter(({ workspaceId }) => workspaceId === id);
      const sorts = {
        defaultTextModel: null,
        defaultImageModel: null,
        defaultProviderSort: null,
        defaultPlugins: null,
        disabledServerTools: null,
      };
      const unset = { ioLogging: null, ...sorts, rateLimits: null };
      expect(find(none)).toEqual([]);
      expect(find(empty)).toEqual([]);
      expect(find(every)).toEqual([
        {
          ...unset,
          workspaceId: every,
          defaultTextModel: 'router/auto',
          ioLogging: { samplingRate: 1, apiKeyIds: null },
        },
      ]);
      expect(find(some)).toEqual([
        { ...unset, workspaceId: some, ioLogging: { samplingRate: 0.25, apiKeyIds: [2 ** 47] } },
      ]);
      expect(find(silent)).toEqual([{ ...unset, workspaceId: silent, ...defaults }]);
    });
  });
}
