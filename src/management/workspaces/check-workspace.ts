import { deriveKeyNumber } from '../../access/key-text.ts';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
import type { WorkspaceDetails } from '../../platform/storage/ports/workspaces.ts';

/** @throws {GatewayError} `invalid_request` if another workspace has the name or the slug */
export async function rejectTakenNames(
  transaction: ManagementTransaction,
  { id, name, slug }: WorkspaceDetails,
): Promise<void> {
  const issues: Issue[] = [];
  const named = await transaction.findWorkspaceByName(name);
  if (named && named.id !== id) {
    issues.push({ path: 'name', message: `\`name\` belongs to another workspace: ${JSON.stringify(name)}.` });
  }
  const found = await transaction.findWorkspace(slug);
  if (found && found.id !== id) {
    issues.push({ path: 'slug', message: `\`slug\` belongs to another workspace: ${JSON.stringify(slug)}.` });
  }
  if (issues.length > 0) throw invalidRequest(issues);
}

/**
 * Checks the keys whose contents are kept. Numbers that were in the list before may stay, since their keys may be
 * deleted.
 *
 * @throws {GatewayError} `invalid_request` that names the numbers without a key of the workspace: nothing would be kept
 */
export async function rejectForeignKeys(
  transaction: ManagementTransaction,
  { id, settings }: WorkspaceDetails,
  before?: WorkspaceDetails,
): Promise<void> {
  const wanted = settings.ioLoggingApiKeyIds ?? [];
  const known = new Set(before?.settings.ioLoggingApiKeyIds);
  if (wanted.every((number) => known.has(number))) return;
  const page = { workspaceId: id, includeDisabled: true, offset: 0, limit: Number.MAX_SAFE_INTEGER };
  for (const { hash } of await transaction.listKeys(page)) known.add(deriveKeyNumber(hash));
  const issues = wanted.flatMap((number, index): Issue[] => {
    if (known.has(number)) return [];
    const message = `${number} is the \`id\` of no key of this workspace; GET /keys?workspace_id=${id} lists them.`;
    return [{ path: `io_logging_api_key_ids[${index}]`, message }];
  });
  if (issues.length > 0) throw invalidRequest(issues);
}
