import { randomBytes, randomUUID } from 'node:crypto';
import { createId, timedPrefix } from '../../../domain/ids.ts';
import type { LedgerEntry, LedgerLine } from '../../../domain/ledger-entry.ts';
import { noRateLimits } from '../../../domain/rate-limits.ts';
import type { AuditEvent } from '../ports/audit.ts';
import type { KeyRecord } from '../ports/keys.ts';
import type { SpendingScope, SpendingStore } from '../ports/spending.ts';
import { defaultWorkspaceSettings, type WorkspaceDetails } from '../ports/workspaces.ts';
import type { Storage } from '../storage.ts';

/** Two processes on one database. */
export interface StoragePair {
  storage: Storage;
  other: Storage;
}

/** When a change is made, and by which key. */
export const change = { atMs: 1_790_000_000_005, actorKeyHash: 'f'.repeat(64) };
/** A page that has all rows. */
export const allRows = { offset: 0, limit: 1_000_000 };

/** Saves a workspace with an audit entry. */
export const saveTestWorkspace = ({ storage }: StoragePair, workspace: WorkspaceDetails) =>
  storage.management.change(change, async (transaction) => {
    await transaction.saveWorkspace(workspace);
    await transaction.record(happening());
  });

/** Creates a unique key. `fields` replace its fields. */
export const createKeyRecord = (fields: Partial<KeyRecord> = {}): KeyRecord => ({
  hash: randomBytes(32).toString('hex'),
  name: 'app',
  label: 'sk-rt-v1-abc…xyz',
  kind: 'member',
  workspaceId: randomUUID(),
  memberId: 'ada',
  disabled: false,
  createdAtMs: 1_790_000_000_000,
  updatedAtMs: null,
  expiresAtMs: null,
  limitNanoUsd: null,
  limitReset: null,
  includeByokInLimit: false,
  rateLimits: noRateLimits,
  creatorUserId: 'ada',
  externalUser: null,
  internId: null,
  ...fields,
});

/** Creates a unique workspace. `fields` replace its fields. */
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

/** Creates an audit event. */
export const happening = (fields: Partial<AuditEvent> = {}): AuditEvent => ({
  action: 'test.change',
  objectKind: 'test',
  objectId: randomUUID(),
  workspaceId: null,
  changes: {},
  ...fields,
});

/** Days around that of test entries. */
export const testDays = { fromMs: 20_700 * 86_400_000, toMs: 20_800 * 86_400_000 };

/** Creates a unique id of an entry of this time. */
export const createEntryId = (ms: number): string => `${timedPrefix('gen-', ms)}${createId('').slice(0, 16)}`;

/** Creates a unique entry. `fields` replace its fields. */
export const createTestEntry = (fields: Partial<LedgerEntry> = {}): LedgerEntry => ({
  id: createEntryId(fields.createdAtMs ?? 1_790_000_000_123),
  createdAtMs: 1_790_000_000_123,
  workspaceId: randomUUID(),
  keyHash: 'a'.repeat(64),
  memberId: 'ada',
  requestedModel: 'fast',
  router: null,
  task: null,
  model: 'acme/small',
  provider: 'Acme',
  providerId: 'acme',
  endpointId: 'acme/small@acme',
  tier: null,
  isByok: false,
  outcome: 'completed',
  status: 200,
  errorType: null,
  streamed: true,
  inputTokens: 12,
  cachedTokens: 3,
  cacheWriteTokens: 2,
  outputTokens: 9,
  reasoningTokens: 4,
  costNanoUsd: 12_345n,
  inputCostNanoUsd: 2_345n,
  priced: true,
  upstreamCostNanoUsd: null,
  estimated: false,
  firstOutputMs: 80,
  durationMs: 240,
  sessionId: 'session-1',
  endUser: 'b'.repeat(64),
  ...fields,
});

/** Creates a line of an entry. */
export const createTestLine = (fields: Partial<LedgerLine> = {}): LedgerLine => ({
  kind: 'attempt',
  model: 'acme/small',
  provider: 'Acme',
  providerId: 'acme',
  endpointId: 'acme/small@acme',
  tier: 'flex',
  isByok: false,
  status: 502,
  inputTokens: 5,
  cachedTokens: 1,
  cacheWriteTokens: 2,
  outputTokens: 4,
  reasoningTokens: 3,
  costNanoUsd: 67n,
  inputCostNanoUsd: 45n,
  priced: true,
  upstreamCostNanoUsd: 66,
  estimated: true,
  ...fields,
});

/** Reads the spending of one scope since each of the times, without BYOK keys. */
export async function readSpent(
  { readSpending }: Pick<SpendingStore, 'readSpending'>,
  scope: SpendingScope,
  ...sinceMs: number[]
): Promise<bigint[]> {
  return (await readSpending([scope], sinceMs))[0]!.costNanoUsd;
}

/** Reads the cost of BYOK keys in the same way. */
export async function readByokSpent(
  { readSpending }: Pick<SpendingStore, 'readSpending'>,
  scope: SpendingScope,
  ...sinceMs: number[]
): Promise<bigint[]> {
  return (await readSpending([scope], sinceMs))[0]!.byokNanoUsd;
}
