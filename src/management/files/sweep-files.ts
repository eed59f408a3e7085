import type { FileParts } from './parts.ts';
import { FILE_OBJECTS } from './file-objects.ts';

/**
 * Age after which an object without a row is no file that is being created: the row follows the object within moments.
 */
const ORPHAN_MS = 3_600_000;

/** Objects per page. */
const PAGE = 500;

/**
 * Removes contents whose file was deleted or never became one, and the leftovers of interrupted uploads. Several
 * processes may do so concurrently.
 *
 * @returns the number of contents removed
 */
export async function sweepFiles(
  { files, objects, now }: Pick<FileParts, 'files' | 'objects' | 'now'>,
  signal?: AbortSignal,
): Promise<number> {
  await objects.removeLeftovers(ORPHAN_MS);
  let removed = 0;
  for (let after: string | undefined; !signal?.aborted; ) {
    const page = await objects.list({ prefix: FILE_OBJECTS, limit: PAGE, ...(after !== undefined && { after }) });
    if (page.length === 0) break;
    after = page.at(-1)!.key;
    const old = page.filter(({ modifiedAtMs }) => now() - modifiedAtMs >= ORPHAN_MS).map(({ key }) => key);
    const existing = new Set(await files.listExistingFiles(old.map(readFileId)));
    for (const key of old) {
      if (existing.has(readFileId(key))) continue;
      await objects.remove(key);
      removed++;
    }
  }
  return removed;
}

const readFileId = (key: string): string => key.slice(key.lastIndexOf('/') + 1);
