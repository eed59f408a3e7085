import { routesOf } from '../../http/define-route.ts';
import { checkCopySecrets, checkPutSecret, checkSecretName } from '../../management/vault/schema.ts';
import { integerParameter } from '../../openapi/parameters.ts';
import type { createVaultHandlers } from './handlers.ts';
import { copiedSecrets, effectiveSecretList, oneSecret, secretList } from './shapes.ts';

export interface VaultRouteParts extends ReturnType<typeof createVaultHandlers> {
  /** Milliseconds for a body to arrive. choice 783 */
  bodyMs: number;
  isOffered: () => boolean;
}

const route = routesOf<VaultRouteParts>({
  base: '/api/v1/vault',
  tag: 'Vaults',
  permission: 'workspace',
  isGlobal: true,
  limitBody: ({ bodyMs }) => ({ bytes: 425_000, source: 'fixed for vaults', ms: bodyMs }),
  isOffered: ({ isOffered }) => isOffered(),
});

const query = {
  limit: integerParameter('Secrets of a page. 100 by default.', { minimum: 1, maximum: 100 }),
  offset: integerParameter('Secrets before the page. 0 by default.', { minimum: 0, maximum: 10_000 }),
};
const put = {
  params: checkSecretName.schema.properties,
  description: 'Creates it, or replaces its value, its hosts and its locations. No response has the value.',
  body: { schema: checkPutSecret.schema, example: { value: 'ghp_…', hosts: ['api.github.com'] } },
  response: { description: 'The secret without its value.', schema: oneSecret },
  statuses: [409],
};
const remove = {
  params: checkSecretName.schema.properties,
  response: { status: 204, description: 'It was deleted.' },
} as const;

/** Secrets of the workspace of the key, and of its interns. @see docs/reference/vault.md */
export const vaultRoutes = [
  route('GET', '/secrets', {
    id: 'listVaultSecrets',
    summary: 'List the secrets of the workspace',
    query,
    response: { description: 'A page of secrets.', schema: secretList },
    open: ({ listVaultSecrets }) => listVaultSecrets,
  }),
  route('PUT', '/secrets/:name', {
    id: 'putVaultSecret',
    summary: 'Write a secret of the workspace',
    ...put,
    open: ({ putVaultSecret }) => putVaultSecret,
  }),
  route('DELETE', '/secrets/:name', {
    id: 'deleteVaultSecret',
    summary: 'Delete a secret of the workspace',
    ...remove,
    open: ({ deleteVaultSecret }) => deleteVaultSecret,
  }),
  route('GET', '/interns/:internId/secrets', {
    id: 'listInternSecrets',
    summary: 'List the own secrets of an intern',
    query,
    response: { description: 'A page of secrets.', schema: secretList },
    takesInterns: true,
    open: ({ listInternSecrets }) => listInternSecrets,
  }),
  route('PUT', '/interns/:internId/secrets/:name', {
    id: 'putInternSecret',
    summary: 'Write a secret of an intern',
    ...put,
    open: ({ putInternSecret }) => putInternSecret,
  }),
  route('DELETE', '/interns/:internId/secrets/:name', {
    id: 'deleteInternSecret',
    summary: 'Delete a secret of an intern',
    ...remove,
    open: ({ deleteInternSecret }) => deleteInternSecret,
  }),
  route('POST', '/interns/:internId/secrets/copy', {
    id: 'copyInternSecrets',
    summary: 'Copy secrets of the workspace to an intern',
    description: 'Copies all of them or none.',
    body: { check: checkCopySecrets, example: { names: ['github_token'] } },
    response: { description: 'The copies, in the order of the names.', schema: copiedSecrets },
    statuses: [409],
    open: ({ copyInternSecrets }) => copyInternSecrets,
  }),
  route('GET', '/interns/:internId/effective-secrets', {
    id: 'listEffectiveSecrets',
    summary: 'List the secrets that an intern receives',
    query,
    response: { description: 'A page of secrets with their scopes.', schema: effectiveSecretList },
    takesInterns: true,
    open: ({ listEffectiveSecrets }) => listEffectiveSecrets,
  }),
];
