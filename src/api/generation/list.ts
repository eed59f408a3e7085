import { GatewayError } from '../../domain/errors.ts';
import { generationOutcomes, type RecordedEntry } from '../../domain/ledger-entry.ts';
import { parseUtcTime } from '../../domain/parse-utc-time.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { RecentQuery } from '../../platform/storage/ports/entries.ts';
import type { LedgerStore } from '../../platform/storage/ports/ledger.ts';
import { type HashEndUser, readEndUser } from '../management/read-end-user.ts';
import { type QueryReader, readQuery } from '../management/read-query.ts';
import type { ManagementHandler } from '../management/route.ts';
import { writeGeneration } from '../../management/generations/write-generation.ts';

export interface ListGenerationsParts {
  ledger: Pick<LedgerStore, 'listRecent'>;
  /** Resolves when every generation so far is in the store. */
  flushLedger: () => Promise<void>;
  hashEndUser: HashEndUser;
}

/**
 * `GET /generations`: recent generations, the newest first. A management key sees all, an inference key those of its
 * workspace.
 *
 * @see docs/reference/management.md#generations
 */
export function createListGenerationsHandler({
  ledger,
  flushLedger,
  hashEndUser,
}: ListGenerationsParts): ManagementHandler {
  return async function listGenerations(request) {
    const caller = request.caller!;
    const seesAll = caller.kind === 'management';
    const query = readQuery(request, (reader) => ({
      ...readFilters(reader, hashEndUser, seesAll ? undefined : caller.workspaceId),
      before: reader.text('cursor'),
      limit: reader.integer('limit', { min: 1, max: 100, byDefault: 50 }),
    }));
    const isForeign = query.workspaceId !== undefined && query.workspaceId !== caller.workspaceId;
    if (!seesAll && isForeign) {
      throw new GatewayError(
        'permission_denied',
        'An inference key can list only the generations of its own workspace.',
      );
    }
    const isIntern = caller.internId !== undefined; // it sees its own
    if (isIntern && query.keyHash !== undefined && query.keyHash !== caller.keyHash) {
      throw new GatewayError('permission_denied', 'The key of an intern can list only its own generations.');
    }
    const { entries, next } = await callStore(async () => {
      await flushLedger();
      return ledger.listRecent({
        ...query,
        ...(!seesAll && { workspaceId: caller.workspaceId }),
        ...(isIntern && { keyHash: caller.keyHash }),
      });
    });
    return { data: entries.map((entry) => writeListed(entry, seesAll)), next_cursor: next ?? null };
  };
}

/** @param own the workspace of a caller that sees only one */
function readFilters(
  reader: QueryReader,
  hashEndUser: HashEndUser,
  own: string | undefined,
): Omit<RecentQuery, 'before' | 'limit'> {
  const outcome = reader.word('outcome', generationOutcomes);
  const workspaceId = reader.text('workspace_id');
  return {
    fromMs: readTime(reader, 'since'),
    toMs: readTime(reader, 'until'),
    model: reader.text('model'),
    provider: reader.text('provider'),
    outcomes: outcome && [outcome],
    keyHash: reader.shaped('api_key_hash', /^[0-9a-f]{64}$/, 'the hash of a key: 64 lower-case hex digits'),
    memberId: reader.text('user_id'),
    workspaceId,
    sessionId: reader.text('session_id'),
    endUser: readEndUser(reader, hashEndUser, workspaceId ?? own),
  };
}

function readTime(reader: QueryReader, name: string): number | undefined {
  const text = reader.text(name);
  if (text === undefined) return undefined;
  const ms = parseUtcTime(text);
  if (ms === undefined) reader.refuse(name, text, 'a date like 2026-10-31, or a time like 2026-10-31T12:00:00Z');
  return ms;
}

/** A generation, and what identifies its request. The keys and members of a workspace are for management keys. */
const writeListed = (entry: RecordedEntry, seesAll: boolean): Record<string, unknown> => ({
  ...writeGeneration(entry),
  requested_model: entry.requestedModel,
  outcome: entry.outcome,
  ...(seesAll && { api_key_hash: entry.keyHash, user_id: entry.memberId }),
});
