import { createHash } from 'node:crypto';
import { containerIdShape, nameSessionContainer } from '../../domain/container-id.ts';
import type { InputItem } from '../../domain/items.ts';
import type { ToolPreparation } from '../server-tool.ts';
import type { ContainerEnvironment } from './environment.ts';

/** Ids of containers of one request begin with it. */
export const REQUEST_CONTAINER = 'gen_';

/** The facts of a call that decide which container it uses. */
export type ContainerSession = Pick<ToolPreparation, 'request' | 'requestId' | 'conversation'>;

/**
 * Returns the id of the container: the given one, that of the session, the latest one of the conversation, or a new one.
 *
 * @see docs/reference/tools/shell.md#the-container
 */
export function chooseContainerId(
  environment: ContainerEnvironment | undefined,
  { request, requestId, conversation }: ContainerSession,
): string {
  if (environment?.type === 'container_reference') return environment.container_id;
  // Applications use one `prompt_cache_key` for all of their users, so it names no container.
  if (request.session_id) return nameSessionContainer(request.session_id);
  return (
    findReplayedId(conversation()) ??
    REQUEST_CONTAINER + createHash('sha256').update(requestId).digest('hex').slice(0, 16)
  );
}

/** Ids of providers have other shapes, or are too long. */
function findReplayedId(input: readonly InputItem[]): string | undefined {
  for (let index = input.length - 1; index >= 0; index--) {
    const { container_id: id } = input[index] as { container_id?: unknown };
    if (typeof id === 'string' && containerIdShape.test(id)) return id;
  }
  return undefined;
}
