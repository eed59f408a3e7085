import type { Caller } from '../../domain/caller.ts';
import { GatewayError } from '../../domain/errors.ts';
import { parseUtcTime } from '../../domain/parse-utc-time.ts';
import { readFilters } from '../../management/generations/read-filters.ts';
import type { EntryFilters } from '../../platform/storage/ports/entries.ts';
import { type HashEndUser, readEndUser } from '../management/read-end-user.ts';
import type { QueryReader } from '../management/read-query.ts';

/**
 * Reads the conditions of a list of generations. A management key sees all, an inference key those of its workspace, and
 * the key of an intern its own.
 *
 * @throws {GatewayError} `permission_denied` if the caller asks for others
 */
export function readListFilters(reader: QueryReader, caller: Caller, hashEndUser: HashEndUser): EntryFilters {
  const own = caller.kind === 'management' ? undefined : caller.workspaceId;
  const intern = caller.internId === undefined ? undefined : caller.keyHash;
  const workspaceId = reader.text('workspace_id');
  const keyHash = reader.shaped('api_key_hash', /^[0-9a-f]{64}$/, 'the hash of a key: 64 lower-case hex digits');
  if (own !== undefined && workspaceId !== undefined && workspaceId !== own) {
    throw new GatewayError('permission_denied', 'An inference key can list only the generations of its own workspace.');
  }
  if (intern !== undefined && keyHash !== undefined && keyHash !== intern) {
    throw new GatewayError('permission_denied', 'The key of an intern can list only its own generations.');
  }
  return {
    ...readFilters(reader),
    keyHash: intern ?? keyHash,
    memberId: reader.text('user_id'),
    workspaceId: own ?? workspaceId,
    sessionId: reader.text('session_id'),
    endUser: readEndUser(reader, hashEndUser, workspaceId ?? own),
  };
}

/** Reads `since` and `until`. */
export function readTimeRange(reader: QueryReader): Pick<EntryFilters, 'fromMs' | 'toMs'> {
  const fromMs = readTime(reader, 'since');
  const toMs = readTime(reader, 'until');
  if (fromMs !== undefined && toMs !== undefined && fromMs >= toMs) {
    reader.refuse('until', reader.text('until')!, 'after `since`');
  }
  return { fromMs, toMs };
}

function readTime(reader: QueryReader, name: string): number | undefined {
  const text = reader.text(name);
  if (text === undefined) return undefined;
  const ms = parseUtcTime(text);
  if (ms === undefined) reader.refuse(name, text, 'a date like 2026-10-31, or a time like 2026-10-31T12:00:00Z');
  return ms;
}
