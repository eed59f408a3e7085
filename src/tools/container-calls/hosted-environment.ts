import { createCheck } from '../../schema/create-check.ts';
import { isStoredFileId } from '../../domain/stored-file.ts';
import { checkEnvironment, type ContainerEnvironment, environmentSchema } from './environment.ts';

/** Ids of containers at providers. */
const foreignId = /^cntr_/;

const check = createCheck(environmentSchema);

/**
 * Reads the environment of a hosted tool.
 *
 * @returns undefined if the gateway has no such environment: only the provider has its containers and its files
 */
export function readHostedEnvironment(given: unknown): { environment?: ContainerEnvironment } | undefined {
  if (given === undefined || given === null) return {};
  if (!check(given) || checkEnvironment({ environment: given }).length > 0) return undefined;
  if (given.type === 'container_reference' && foreignId.test(given.container_id)) return undefined;
  return given.file_ids?.every(isStoredFileId) === false ? undefined : { environment: given };
}

/** Whether a hosted tool names files or a container of the gateway, so that no provider can run it. */
export const needsGateway = (environment: ContainerEnvironment | undefined): boolean =>
  environment?.type === 'container_reference' || (environment?.file_ids?.length ?? 0) > 0;
