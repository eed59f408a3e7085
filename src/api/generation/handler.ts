import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../../domain/errors.ts';
import type { RecordedEntry } from '../../domain/ledger-entry.ts';
import { writeListed } from '../../management/generations/write-listed.ts';

/**
 * `GET /generation?id=`: usage and cost of one response, for inference keys of its workspace and for management keys.
 * The key of an intern finds its own responses.
 *
 * @see docs/reference/management.md
 */
export function createGenerationHandler(
  find: (workspaceId: string | undefined, id: string) => Promise<RecordedEntry | undefined>,
) {
  return async function findGenerationHandler(request: FastifyRequest): Promise<unknown> {
    const { id } = request.query as { id?: unknown };
    if (typeof id !== 'string' || id === '') {
      throw new GatewayError('invalid_request', 'id: the query names no generation; send ?id=gen-….');
    }
    const { kind, workspaceId, internId, keyHash } = request.caller!;
    const seesAll = kind === 'management';
    const entry = await find(seesAll ? undefined : workspaceId, id);
    if (!entry || (internId !== undefined && entry.keyHash !== keyHash)) {
      const where = seesAll ? '' : ' in this workspace';
      throw new GatewayError('not_found', `There is no generation ${id.slice(0, 100)}${where}.`);
    }
    return { data: writeListed(entry, seesAll) };
  };
}
