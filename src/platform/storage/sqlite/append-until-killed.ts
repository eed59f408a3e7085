import { randomInt, randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { createTimedId } from '../../../domain/ids.ts';
import type { LedgerEntry } from '../../../domain/ledger-entry.ts';
import { openSqliteStorage } from './open.ts';

/**
 * A process that `sqlite.test.ts` kills. It creates the database of its first argument and appends batches to it. It
 * writes a line with the ids of each batch as soon as the store reports the batch as durable. Each batch has a unique
 * workspace, and `inputTokens` of each entry is the size of the batch.
 */
const storage = await openSqliteStorage(process.argv[2]!);
await storage.migrate();
for (;;) {
  const size = randomInt(8) === 0 ? randomInt(1001, 2500) : randomInt(1, 20); // one transaction, or one statement
  const workspaceId = randomUUID();
  const entries = Array.from({ length: size }, () => makeEntry(workspaceId, size));
  await storage.ledger.append(entries);
  writeSync(1, `${entries.map((entry) => entry.id).join(' ')}\n`);
  // A report raises the sums, so that a kill can happen meanwhile.
  if (randomInt(3) === 0) storage.ledger.readUsage({ boundsMs: [0, 900_000], groupBy: [], only: {} }).catch(() => {});
}

function makeEntry(workspaceId: string, batchSize: number): LedgerEntry {
  return {
    id: createTimedId('gen-'),
    createdAtMs: Date.now(),
    workspaceId,
    keyHash: 'a'.repeat(64),
    memberId: null,
    requestedModel: 'acme/small',
    router: null,
    task: null,
    model: 'acme/small',
    provider: 'Acme',
    providerId: null,
    endpointId: null,
    tier: null,
    isByok: false,
    outcome: 'completed',
    status: 200,
    errorType: null,
    streamed: false,
    inputTokens: batchSize,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 1,
    reasoningTokens: 0,
    costNanoUsd: 1n,
    inputCostNanoUsd: 1n,
    priced: true,
    upstreamCostNanoUsd: null,
    estimated: false,
    firstOutputMs: null,
    durationMs: 1,
    sessionId: null,
    endUser: null,
  };
}
