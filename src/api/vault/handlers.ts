import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../../domain/errors.ts';
import { copySecrets, deleteSecret, putSecret } from '../../management/vault/change-secrets.ts';
import type { VaultCaller, VaultManagementParts, VaultPlace } from '../../management/vault/find-vault.ts';
import { listEffectiveSecrets, listVaultSecrets } from '../../management/vault/list-secrets.ts';
import { checkCopySecrets, checkPutSecret, checkSecretName } from '../../management/vault/schema.ts';
import { writeEffectiveSecret, writeSecret } from '../../management/vault/write-secret.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { Page } from '../../platform/storage/ports/page.ts';
import { type QueryReader, readQuery } from '../management/read-query.ts';
import { type ManagementHandler, pathParam } from '../management/route.ts';

type VaultHandlerName =
  | 'listVaultSecrets'
  | 'putVaultSecret'
  | 'deleteVaultSecret'
  | 'listInternSecrets'
  | 'putInternSecret'
  | 'deleteInternSecret'
  | 'copyInternSecrets'
  | 'listEffectiveSecrets';

export interface VaultApiParts extends VaultManagementParts {
  /** Milliseconds until a request is a 408. */
  deadlineMs: number;
}

/** Secrets of the workspace of the key, and of its interns. @see docs/reference/vault.md */
export function createVaultHandlers(parts: VaultApiParts): Record<VaultHandlerName, ManagementHandler> {
  const call = <Result>(work: () => Promise<Result>): Promise<Result> =>
    withDeadline(parts.deadlineMs, callStore(work));
  const list =
    (place: (request: FastifyRequest) => VaultPlace): ManagementHandler =>
    async (request) => {
      const page = readQuery(request, readSecretPage);
      const { rows, hasMore } = await call(() => listVaultSecrets(parts, callerOf(request), place(request), page));
      return { data: rows.map(writeSecret), has_more: hasMore };
    };
  const put =
    (place: (request: FastifyRequest) => VaultPlace): ManagementHandler =>
    async (request) => {
      try {
        const body = { ...checkPutSecret(request.body), ...nameOf(request) };
        return { data: writeSecret(await call(() => putSecret(parts, callerOf(request), place(request), body))) };
      } finally {
        request.rawBody?.fill(0); // it has the value
      }
    };
  const remove =
    (place: (request: FastifyRequest) => VaultPlace): ManagementHandler =>
    async (request, reply) => {
      const { name } = nameOf(request);
      await call(() => deleteSecret(parts, callerOf(request), place(request), name));
      return reply.code(204).send();
    };
  const ofWorkspace = (): VaultPlace => ({});
  const ofIntern = (request: FastifyRequest): VaultPlace => ({ internId: internOf(request) });

  return {
    listVaultSecrets: list(ofWorkspace),
    putVaultSecret: put(ofWorkspace),
    deleteVaultSecret: remove(ofWorkspace),
    listInternSecrets: list(ofIntern),
    putInternSecret: put(ofIntern),
    deleteInternSecret: remove(ofIntern),
    async copyInternSecrets(request) {
      const { names } = checkCopySecrets(request.body);
      const copied = await call(() => copySecrets(parts, callerOf(request), internOf(request), names));
      return { data: copied.map(writeSecret) };
    },
    async listEffectiveSecrets(request) {
      const page = readQuery(request, readSecretPage);
      const found = await call(() => listEffectiveSecrets(parts, callerOf(request), internOf(request), page));
      return { data: found.rows.map(writeEffectiveSecret), has_more: found.hasMore };
    },
  };
}

const callerOf = (request: FastifyRequest): VaultCaller => {
  const { keyHash, workspaceId, memberId, internId } = request.caller!; // the route needs a key
  return { keyHash, workspaceId, memberId, internId };
};

const internOf = (request: FastifyRequest): string => pathParam(request, 'internId');
const nameOf = (request: FastifyRequest): { name: string } => checkSecretName({ name: pathParam(request, 'name') });

const readSecretPage = (reader: QueryReader): Page => ({
  limit: reader.integer('limit', { min: 1, max: 100, byDefault: 100 }),
  offset: reader.integer('offset', { min: 0, max: 10_000, byDefault: 0 }),
});

/** The work continues after the deadline: a write that was begun is stored whole or not at all. */
async function withDeadline<Result>(limitMs: number, work: Promise<Result>): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const says = `The vault did not respond within ${limitMs} ms. The change may still be stored.`;
  const timer = setTimeout(() => reject(new GatewayError('request_timeout', says)), limitMs);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
