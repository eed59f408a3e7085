import type { FastifyRequest } from 'fastify';
import type { ContentRecord } from '../../domain/content-record.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { ManagementHandler } from '../management/route.ts';
import { writeStoredContent } from '../../management/generations/write-exported.ts';
import { writeTime } from '../../management/write-time.ts';

/**
 * `GET /generation/content?id=`: input and output of a generation, if its workspace keeps contents.
 *
 * @see docs/guides/observability.md#inputs-and-outputs
 */
export function createContentHandler(find: (id: string) => Promise<ContentRecord | undefined>): ManagementHandler {
  return async function findContentHandler(request: FastifyRequest): Promise<unknown> {
    const { id } = request.query as { id?: unknown };
    if (typeof id !== 'string' || id === '') {
      throw new GatewayError('invalid_request', 'id: the query names no generation; send ?id=gen-….');
    }
    const content = await find(id);
    if (!content) {
      throw new GatewayError(
        'not_found',
        `There are no contents of a generation ${id.slice(0, 100)}: it does not exist, its workspace keeps no contents, or their retention has ended.`,
      );
    }
    return { data: writeContent(content) };
  };
}

const writeContent = (content: ContentRecord): Record<string, unknown> => ({
  id: content.id,
  workspace_id: content.workspaceId,
  created_at: writeTime(content.createdAtMs),
  ...writeStoredContent(content),
});
