import { readHostedEnvironment } from '../container-calls/hosted-environment.ts';

/**
 * Reads the container of the hosted tool: an id, or settings.
 *
 * @returns undefined if the gateway has no such container: only the provider has its containers and its files
 */
export function readHostedContainer(container: unknown): Record<string, unknown> | undefined {
  if (typeof container === 'string') {
    return readHostedEnvironment({ type: 'container_reference', container_id: container });
  }
  const {
    file_ids: fileIds,
    network_policy: policy,
    memory_limit: memoryLimit,
  } = (container ?? {}) as Record<string, unknown>;
  const isSet = (value: unknown): boolean => value !== undefined && value !== null;
  const environment = readHostedEnvironment({
    type: 'container_auto',
    ...(isSet(fileIds) && { file_ids: fileIds }),
    ...(isSet(policy) && { network_policy: policy }),
  });
  return environment && { ...environment, ...(isSet(memoryLimit) && { memory_limit: memoryLimit }) };
}
