import { Compile } from 'typebox/compile';
import { isStoredFileId } from '../../domain/stored-file.ts';
import { checkEnvironment, type ContainerEnvironment, environmentSchema } from './environment.ts';

/** Ids of containers at providers. */
const foreignId = /^cntr_/;

let check: ((value: unknown) => value is ContainerEnvironment) | undefined;

/**
 * Reads the environment of a hosted tool.
 *
 * @returns undefined if the gateway has no such environment: only the provider has its containers and its files
 */
export function readHostedEnvironment(given: unknown): { environment?: ContainerEnvironment } | undefined {
  if (given === undefined || given === null) return {};
  if (!check) {
    const validator = Compile(environmentSchema);
    check = (value): value is ContainerEnvironment => validator.Check(value);
  }
  if (!check(given) || checkEnvironment({ environment: given }).length > 0) return undefined;
  if (given.type === 'container_reference' && foreignId.test(given.container_id)) return undefined;
  return given.file_ids?.every(isStoredFileId) === false ? undefined : { environment: given };
}

/** Whether a hosted tool names files or a container of the gateway, so that no provider can run it. */
export const needsGateway = (environment: ContainerEnvironment | undefined): boolean =>
  environment?.type === 'container_reference' || (environment?.file_ids?.length ?? 0) > 0;
