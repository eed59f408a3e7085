import type { QueryReader } from './read-query.ts';

/** `hashEndUser` of the pipelines. */
export type HashEndUser = (workspaceId: string, id: string) => string;

/**
 * Reads `external_user`: an end user, by the id that the application sends, or by its hash that entries show.
 *
 * @param workspaceId the workspace whose requests name it. The same id has another hash in each workspace
 * @returns the hash
 */
export function readEndUser(
  reader: QueryReader,
  hashEndUser: HashEndUser,
  workspaceId: string | undefined,
): string | undefined {
  const name = 'external_user';
  const text = reader.text(name);
  if (text === undefined || /^hg_[0-9a-f]{40}$/.test(text)) return text;
  if (workspaceId !== undefined) return hashEndUser(workspaceId, text);
  reader.refuse(name, text, 'a hash as entries show it (hg_…). For an id, send `workspace_id` as well');
  return undefined;
}
