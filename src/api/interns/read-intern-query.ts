import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../../domain/errors.ts';
import { type Intern, internStatuses } from '../../domain/intern.ts';
import { readQuery } from '../management/read-query.ts';

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The place of an intern in a list, for `starting_after`. */
export const writeInternCursor = ({ createdAtMs, id }: Pick<Intern, 'createdAtMs' | 'id'>): string =>
  Buffer.from(`${createdAtMs}.${id}`).toString('base64url');

/** @returns undefined if it is malformed */
function readCursor(cursor: string): { createdAtMs: number; id: string } | undefined {
  const [, time, id] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (time === undefined || id === undefined) return undefined;
  const place = { createdAtMs: Number(time), id };
  return writeInternCursor(place) === cursor ? place : undefined;
}

/** Reads the query of a list of interns. @throws {GatewayError} `invalid_request`; `not_found` for another workspace */
export function readInternQuery(request: FastifyRequest) {
  const query = readQuery(request, (reader) => {
    const limit = reader.integer('limit', { min: 1, max: 500, byDefault: 50 });
    const status = reader.text('status');
    const statuses = status === undefined ? undefined : [...new Set(status.split(','))];
    const known = internStatuses.filter((each) => statuses?.includes(each));
    if (status !== undefined && known.length !== statuses?.length) {
      reader.refuse('status', status, `a list of ${internStatuses.join(', ')}, separated by commas`);
    }
    const cursor = reader.text('starting_after');
    const after = cursor === undefined ? undefined : readCursor(cursor);
    if (cursor !== undefined && !after) reader.refuse('starting_after', cursor, '`next_cursor` of a page');
    const workspaceId = reader.shaped('workspace_id', uuidShape, 'a UUID');
    return { limit, after, workspaceId, statuses: statuses && known };
  });
  if (
    query.workspaceId !== undefined &&
    query.workspaceId.toLowerCase() !== request.caller!.workspaceId.toLowerCase()
  ) {
    throw new GatewayError('not_found', 'There is no workspace with this id for the key.');
  }
  return query;
}
