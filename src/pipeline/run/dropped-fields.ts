import type { RunBase } from './run.ts';

/**
 * Returns the request fields that the endpoints of a run did not get, each once. Known as soon as an attempt is written.
 * An attempt that was replaced by another one does not count.
 */
export function listDroppedFields({ steps }: Pick<RunBase, 'steps'>): readonly string[] {
  const lists: (readonly string[])[] = [];
  for (const { committed, attempts } of steps) {
    const { droppedFields } = committed ?? attempts.at(-1) ?? {};
    if (droppedFields && droppedFields.length > 0) lists.push(droppedFields);
  }
  return lists.length > 1 ? [...new Set(lists.flat())] : (lists[0] ?? []);
}
