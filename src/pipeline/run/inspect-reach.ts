import { type InputItem, partHolders } from '../../domain/items.ts';
import { refuseReach } from '../../domain/reach.ts';
import { pass, type Verdict } from '../../domain/verdict.ts';
import { forIntern, inlineUrls, type MediaSource } from '../attempts/inline-urls.ts';
import type { Inspector } from './inspect-input.ts';
import type { Run } from './run.ts';

/**
 * Creates the inspector that fetches the addresses in the input of an intern, so that no plugin and no provider opens
 * one. It also sees what plugins and tools add. Stored files have been replaced by their contents before.
 *
 * @see docs/reference/interns.md#reach
 */
export const createReachInspector =
  (media: () => MediaSource): Inspector =>
  (run, added) =>
    run.caller.reach ? fetchAll(run, added ?? run.input.read(), media()) : pass;

async function fetchAll(run: Run, input: InputItem[], source: MediaSource): Promise<Verdict> {
  rejectFileIds(input);
  const { input: fetched } = await inlineUrls(run, { input }, forIntern, source);
  return fetched === input ? pass : { type: 'replace', change: { input: fetched } };
}

/** Rejects files that a provider keeps. @throws {GatewayError} `permission_denied` */
function rejectFileIds(input: readonly InputItem[]): void {
  for (const [at, item] of input.entries()) {
    const holder = partHolders.get(item.type);
    const parts: unknown = holder && item[holder as keyof InputItem];
    if (!holder || !Array.isArray(parts)) continue;
    for (const [index, part] of (parts as ({ file_id?: unknown } | null)[]).entries()) {
      if (typeof part?.file_id !== 'string' || part.file_id === '') continue;
      const path = `input[${at}].${holder}[${index}].file_id`;
      throw refuseReach(path, 'names a file that a provider keeps. Interns send the file itself.');
    }
  }
}
