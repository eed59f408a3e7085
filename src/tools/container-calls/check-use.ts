import type { Issue } from '../../domain/errors.ts';
import { checkNetwork } from '../../domain/reach.ts';
import { show } from '../../schema/report.ts';
import { isStoredFileId } from '../../domain/stored-file.ts';
import type { ContainerCompute, Containers } from '../containers.ts';
import type { ToolPreparation } from '../server-tool.ts';
import { chooseContainerId } from './container-id.ts';
import { type ContainerEnvironment, readNetwork } from './environment.ts';

/**
 * Checks what only the store of containers and files knows, before anything is sent.
 *
 * @returns issues with paths below `parameters`
 */
export async function checkContainerUse(
  containers: Containers,
  compute: ContainerCompute,
  environment: ContainerEnvironment | undefined,
  context: ToolPreparation,
): Promise<Issue[]> {
  const { caller } = context;
  const network = readNetwork(environment);
  checkNetwork(caller.reach, network?.allowedDomains ?? [], 'network_policy.allowed_domains');
  if (containers.problem !== undefined) return []; // the calls fail
  const fileIds = environment?.file_ids ?? [];
  const unknown = new Set<string>(fileIds.filter((id) => !isStoredFileId(id)));
  const stored = fileIds.filter((id) => !unknown.has(id));
  if (stored.length > 0) for (const id of await containers.findUnknownFiles(caller, stored)) unknown.add(id);
  if (unknown.size > 0) {
    return fileIds.flatMap((id, index): Issue[] => {
      const message = `\`file_ids[${index}]\` names no file of the workspace: ${show(id)}. Upload it with POST /files.`;
      return unknown.has(id) ? [{ path: `parameters.environment.file_ids[${index}]`, message }] : [];
    });
  }
  const id = chooseContainerId(environment, context);
  const conflict = await containers.findConflict(caller, { id, compute, ...(network && { network }) });
  // choice 524
  return conflict === undefined ? [] : [{ path: 'parameters.environment.network_policy', message: conflict }];
}
