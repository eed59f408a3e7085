import type { Caller } from '../../domain/caller.ts';
import type { Intern, InternStatus } from '../../domain/intern.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { InternQuery, InternStore } from '../../platform/storage/ports/interns.ts';
import { createMissingInternError } from './intern-error.ts';
import type { InternParts } from './parts.ts';

/** The party that uses interns. The operator at the command line has no key. */
export interface InternCaller extends Pick<Caller, 'kind' | 'workspaceId' | 'memberId' | 'internId'> {
  keyHash: string | null;
}

/** Parts that the search for one intern needs. */
export interface InternFinder {
  interns: Pick<InternStore, 'findIntern'>;
}

/**
 * Whether a caller sees an intern: the keys of its creator in its workspace, the keys of the workspace that act as the
 * organization, and its own key. @see docs/reference/interns.md#visibility
 */
export function canSeeIntern(caller: InternCaller, intern: Intern): boolean {
  if (caller.internId !== undefined) return caller.internId === intern.id;
  if (caller.kind === 'management' || caller.workspaceId !== intern.workspaceId) return false;
  return caller.kind === 'organization' || caller.memberId === intern.creatorId;
}

/** Finds an intern that the caller sees. @throws {GatewayError} `not_found` */
export async function getIntern({ interns }: InternFinder, caller: InternCaller, internId: string): Promise<Intern> {
  const intern = await callStore(() => interns.findIntern(internId));
  if (!intern || !canSeeIntern(caller, intern)) throw createMissingInternError();
  return intern;
}

/** Finds an intern that the caller may change. An intern must not change itself. @throws {GatewayError} `not_found` */
export async function getChangeableIntern(
  parts: InternFinder,
  caller: InternCaller,
  internId: string,
): Promise<Intern> {
  if (caller.internId !== undefined) throw createMissingInternError();
  return getIntern(parts, caller, internId);
}

export interface InternPage {
  interns: Intern[];
  hasMore: boolean;
}

/** Lists the interns that the caller sees, the newest first. @throws {GatewayError} `not_found` for the key of an intern */
export async function listInterns(
  { interns }: Pick<InternParts, 'interns'>,
  caller: InternCaller,
  { limit, ...query }: { limit: number; statuses?: readonly InternStatus[] | undefined; after?: InternQuery['after'] },
): Promise<InternPage> {
  if (caller.internId !== undefined) throw createMissingInternError();
  const rows = await callStore(() =>
    interns.listInterns({
      ...query,
      workspaceId: caller.workspaceId,
      creatorId: caller.kind === 'organization' ? undefined : (caller.memberId ?? ''),
      limit: limit + 1,
    }),
  );
  return { interns: rows.slice(0, limit), hasMore: rows.length > limit };
}
