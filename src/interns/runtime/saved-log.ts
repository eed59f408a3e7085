import type { Intern } from '../../domain/intern.ts';
import { openEntryContent } from '../../management/containers/entry-content.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { nameHome } from './intern-home.ts';
import { readStart } from './log-ring.ts';
import type { RuntimeParts } from './runtime-parts.ts';
import { LOG_PATH } from './write-file.ts';

/**
 * Reads the log that was saved with the home of an intern, also of one that does not run.
 *
 * @returns undefined if there is none
 * @throws {GatewayError} `unavailable`
 */
export async function readSavedLog(
  { store, objects }: Pick<RuntimeParts, 'store' | 'objects'>,
  { id, workspaceId }: Pick<Intern, 'id' | 'workspaceId'>,
): Promise<string | undefined> {
  const container = await callStore(() => store.findContainer(workspaceId, nameHome(id)));
  const entry = container && (await callStore(() => store.findEntry(container.key, LOG_PATH)));
  if (entry?.kind !== 'file') return undefined; // an agent can replace it with a folder
  const opened = await openEntryContent({ store, objects }, container!.key, entry);
  return opened && readStart(opened.content);
}
