import type { FastifyRequest } from 'fastify';
import { GatewayError, invalidRequest, type Issue } from '../../domain/errors.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { FileListQuery } from '../../platform/storage/ports/files.ts';
import type { WorkspaceReader } from '../../platform/storage/ports/workspaces.ts';
import type { QueryReader } from '../management/read-query.ts';

/** Vendors whose files API the parameter `provider` names. */
export const fileVendors = ['openai', 'anthropic'] as const;
export type FileVendor = (typeof fileVendors)[number];

/** Whose files a request names. */
export interface FileTarget {
  /** Absent: the workspace of the key. A management key must name one. */
  workspaceId: string | undefined;
}

const purposeShape = /^[a-z0-9_-]{1,64}$/;

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Reads the parameters that all routes of files have. */
export function readFileTarget(reader: QueryReader): FileTarget {
  reader.word('provider', fileVendors); // a valid one never comes here: see `findVendor`
  return { workspaceId: reader.shaped('workspace_id', uuid, 'the id of a workspace: a UUID')?.toLowerCase() };
}

/** Returns the vendor whose files a request is about. Undefined: those of the gateway, or the query is invalid. */
export const findVendor = (request: FastifyRequest): FileVendor | undefined => {
  const { provider } = request.query as { provider?: unknown };
  return fileVendors.find((vendor) => vendor === provider);
};

/** Reads the workspace of a request that is passed on. The vendor checks the other parameters. */
export function readVendorTarget(request: FastifyRequest): FileTarget {
  const { workspace_id: workspaceId } = request.query as { workspace_id?: unknown };
  if (workspaceId === undefined || workspaceId === '') return { workspaceId: undefined }; // empty means absent, as everywhere
  if (typeof workspaceId === 'string' && uuid.test(workspaceId)) return { workspaceId: workspaceId.toLowerCase() };
  throw invalidRequest([{ path: 'workspace_id', message: 'must be the id of one workspace: a UUID.' }]);
}

/** Reads the parameters of a list. @throws {GatewayError} `invalid_request` if they exclude each other */
export function readFilePage(reader: QueryReader): Omit<FileListQuery, 'workspaceId'> {
  const limit = reader.integer('limit', { min: 1, max: 1000, byDefault: 100 });
  const places = (['cursor', 'after', 'after_id'] as const).flatMap((name) => {
    const id = reader.shaped(name, /^[\w-]{1,100}$/, 'the id of a file');
    return id === undefined ? [] : [{ name, id }];
  });
  const order = reader.word('order', ['asc', 'desc']);
  const purpose = reader.shaped('purpose', purposeShape, 'the purpose of files');
  reader.lacks('before_id', 'Files are listed forwards only. Use after_id, or order=desc.');
  if (places.length > 1) {
    const names = places.map(({ name }) => name);
    reader.refuse(names[1]!, places[1]!.id, `allowed together with ${names[0]}; send one of them`);
  }
  return { after: places[0]?.id, limit, order, purpose };
}

/**
 * Returns the workspace of a request.
 *
 * @throws {GatewayError} `permission_denied` if the key belongs to another one; `invalid_request` if a management key names
 *   none; `not_found` if it does not exist
 */
export async function findFileWorkspace(
  workspaces: Pick<WorkspaceReader, 'findWorkspace'>,
  request: FastifyRequest,
  { workspaceId }: Pick<FileTarget, 'workspaceId'>,
): Promise<string> {
  const caller = request.caller!; // the route needs a key
  if (caller.kind !== 'management') {
    if (workspaceId === undefined || workspaceId === caller.workspaceId) return caller.workspaceId;
    throw new GatewayError('permission_denied', 'The key belongs to another workspace than workspace_id names.');
  }
  if (workspaceId === undefined) {
    const message = 'is missing; a management key has no workspace, so the query must name one.';
    throw invalidRequest([{ path: 'workspace_id', message }]);
  }
  if (await callStore(() => workspaces.findWorkspace(workspaceId))) return workspaceId;
  throw new GatewayError('not_found', `There is no workspace ${workspaceId}.`);
}

/** Reads the form fields beside a file. @returns the purpose @throws {GatewayError} `invalid_request` */
export function readUploadFields(fields: ReadonlyMap<string, string>): string | null {
  const issues: Issue[] = [];
  for (const [name, value] of fields) {
    if (name === 'purpose') {
      if (!purposeShape.test(value)) {
        issues.push({ path: name, message: 'must be 1 to 64 lower-case letters, digits, - and _.' });
      }
    } else if (name.startsWith('expires_after')) {
      issues.push({ path: name, message: 'files do not expire; leave it out and delete the file instead.' });
    } else {
      issues.push({ path: name.slice(0, 100), message: 'there is no such field; send file and purpose.' });
    }
  }
  if (issues.length > 0) throw invalidRequest(issues);
  return fields.get('purpose') ?? null;
}
