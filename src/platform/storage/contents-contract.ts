import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { ContentRecord } from '../../domain/content-record.ts';
import { createTimedId } from '../../domain/ids.ts';
import { createTestEntry } from './ledger-contract.ts';
import { createWorkspaceDetails } from './management-contract.ts';
import type { FeedbackRecord, Storage, WorkspaceSettings } from './storage.ts';

/** The part of `contract.ts` about inputs and outputs that are kept, and about feedback. */
export function testContentStore(pair: () => { storage: Storage; other: Storage }): void {
  const change = { atMs: 1_790_000_000_005, actorKeyHash: null };
  const happening = { action: 'test.change', objectKind: 'test', objectId: 'x', workspaceId: null, changes: {} };

  async function addWorkspace(settings: Partial<WorkspaceSettings> = {}): Promise<string> {
    const workspace = createWorkspaceDetails();
    await pair().storage.management.change(change, async (transaction) => {
      await transaction.saveWorkspace({ ...workspace, settings: { ...workspace.settings, ...settings } });
      await transaction.record(happening);
    });
    return workspace.id;
  }
  const makeContent = (workspaceId: string, fields: Partial<ContentRecord> = {}): ContentRecord => ({
    id: createTimedId('gen-'),
    workspaceId,
    createdAtMs: 1_790_000_000_000,
    input: JSON.stringify({ items: [{ type: 'message', content: 'Zürich 東京 🗝️ \0 \ud800' }] }),
    output: '[]',
    error: null,
    isCut: false,
    ...fields,
  });
  const makeFeedback = (generationId: string, fields: Partial<FeedbackRecord> = {}): FeedbackRecord => ({
    id: createTimedId('fb_'),
    generationId,
    category: 'incorrect',
    comment: null,
    actorKeyHash: 'f'.repeat(64),
    createdAtMs: 1_790_000_000_123,
    ...fields,
  });

  it('tells what workspaces say of requests: whether their contents are kept, and what holds for who says nothing', async () => {
    const none = await addWorkspace({ description: 'says nothing' });
    const every = await addWorkspace({ ioLogging: true, defaultTextModel: 'router/auto' });
    const some = await addWorkspace({ ioLogging: true, ioLoggingSamplingRate: 0.25, ioLoggingApiKeyIds: [2 ** 47] });
    const defaults = { defaultImageModel: 'acme/painter', defaultProviderSort: 'price' };
    const silent = await addWorkspace(defaults);

    const all = await pair().other.access.listAppliedSettings();
    const find = (id: string) => all.filter(({ workspaceId }) => workspaceId === id);
    const sorts = { defaultTextModel: null, defaultImageModel: null, defaultProviderSort: null };
    const unset = { ioLogging: null, ...sorts, rateLimits: null };
    expect(find(none)).toEqual([]);
    expect(find(every)).toEqual([
      {
        ...unset,
        ...{ workspaceId: every, defaultTextModel: 'router/auto', ioLogging: { samplingRate: 1, apiKeyIds: null } },
      },
    ]);
    expect(find(some)).toEqual([
      { ...unset, workspaceId: some, ioLogging: { samplingRate: 0.25, apiKeyIds: [2 ** 47] } },
    ]);
    expect(find(silent)).toEqual([{ ...unset, workspaceId: silent, ...defaults }]);
  });

  it('keeps a content once, and finds it while its workspace is there', async () => {
    const { storage, other } = pair();
    const workspaceId = await addWorkspace();
    const [first, second] = [
      makeContent(workspaceId),
      makeContent(workspaceId, { error: '{"code":502}', isCut: true }),
    ];
    await storage.contents.append([]);
    await storage.contents.append([first, second]);
    await other.contents.append([{ ...first, output: '["again"]' }]);

    expect(await other.contents.find(first.id)).toEqual(first);
    expect(await other.contents.find(second.id)).toEqual(second);
    expect(await storage.contents.find(createTimedId('gen-'))).toBeUndefined();
    expect(await storage.contents.find('gen-\0')).toBeUndefined();

    await storage.management.change(change, async (transaction) => {
      await transaction.deleteWorkspace(workspaceId);
      await transaction.record(happening);
    });
    expect(await storage.contents.find(first.id)).toBeUndefined();
  });

  it('deletes the oldest contents, as many as it is told', async () => {
    const { contents } = pair().storage;
    const workspaceId = await addWorkspace();
    const old = [5, 6, 7].map((createdAtMs) => makeContent(workspaceId, { createdAtMs }));
    const young = makeContent(workspaceId, { createdAtMs: 8 });
    await contents.append([young, ...old]);

    expect(await contents.deleteBefore(8, 2)).toBe(2);
    const left = async () => Promise.all([...old, young].map(async ({ id }) => (await contents.find(id))?.createdAtMs));
    expect(await left()).toEqual([undefined, undefined, 7, 8]);
    expect(await contents.deleteBefore(8, 2)).toBe(1);
    expect(await contents.deleteBefore(8, 2)).toBe(0);
    expect(await left()).toEqual([undefined, undefined, undefined, 8]);
  });

  it('keeps what is said of a generation that the ledger has, and nothing of another', async () => {
    const { ledger, contents } = pair().storage;
    const entry = createTestEntry();
    await ledger.append([entry]);
    const first = makeFeedback(entry.id);
    const second = makeFeedback(entry.id, { id: `${first.id}z`, comment: 'Ünd\0 so' });

    expect(await contents.addFeedback(first)).toBe(true);
    expect(await contents.addFeedback(second)).toBe(true);
    expect(await contents.addFeedback(makeFeedback(`gen-${randomUUID()}`))).toBe(false);
    const { workspaceId } = entry;
    expect(await contents.listFeedback({ offset: 0, limit: 9, generationId: entry.id })).toEqual({
      rows: [
        { ...second, workspaceId, comment: 'Ünd\ufffd so' },
        { ...first, workspaceId },
      ],
      total: 2,
    });
    const page = await contents.listFeedback({ offset: 1, limit: 1, generationId: entry.id });
    expect(page.rows.map(({ id }) => id)).toEqual([first.id]);
    expect((await contents.listFeedback({ offset: 0, limit: 1 })).total).toBeGreaterThanOrEqual(2);
  });
}
