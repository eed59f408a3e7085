import { checkCopySecrets, checkPutSecret, checkSecretName } from '../../management/vault/schema.ts';
import { copiedSecrets, effectiveSecretList, oneSecret, secretList } from '../bodies/vaults.ts';
import type { Operation, Operations } from '../operation.ts';
import { integerParameter } from './parameters.ts';

const tag = 'Vaults';
const query = {
  limit: integerParameter('Secrets of a page. 100 by default.', { minimum: 1, maximum: 100 }),
  offset: integerParameter('Secrets before the page. 0 by default.', { minimum: 0, maximum: 10_000 }),
};
const put: Omit<Operation, 'summary'> = {
  tag,
  path: checkSecretName.schema.properties,
  description: 'Creates it, or replaces its value, its hosts and its locations. No response has the value.',
  body: { schema: checkPutSecret.schema, example: { value: 'ghp_…', hosts: ['api.github.com'] } },
  response: { description: 'The secret without its value.', schema: oneSecret },
  statuses: [409],
};
const remove: Omit<Operation, 'summary'> = {
  tag,
  path: checkSecretName.schema.properties,
  response: { status: 204, description: 'It was deleted.' },
};

/** The routes of vaults. */
export const vaultOperations: Operations = {
  'GET /api/v1/vault/secrets': {
    tag,
    summary: 'List the secrets of the workspace',
    query,
    response: { description: 'A page of secrets.', schema: secretList },
  },
  'PUT /api/v1/vault/secrets/:name': { summary: 'Write a secret of the workspace', ...put },
  'DELETE /api/v1/vault/secrets/:name': { summary: 'Delete a secret of the workspace', ...remove },
  'GET /api/v1/vault/interns/:internId/secrets': {
    tag,
    summary: 'List the own secrets of an intern',
    query,
    response: { description: 'A page of secrets.', schema: secretList },
  },
  'PUT /api/v1/vault/interns/:internId/secrets/:name': { summary: 'Write a secret of an intern', ...put },
  'DELETE /api/v1/vault/interns/:internId/secrets/:name': { summary: 'Delete a secret of an intern', ...remove },
  'POST /api/v1/vault/interns/:internId/secrets/copy': {
    tag,
    summary: 'Copy secrets of the workspace to an intern',
    description: 'Copies all of them or none.',
    body: { schema: checkCopySecrets.schema, example: { names: ['github_token'] } },
    response: { description: 'The copies, in the order of the names.', schema: copiedSecrets },
    statuses: [409],
  },
  'GET /api/v1/vault/interns/:internId/effective-secrets': {
    tag,
    summary: 'List the secrets that an intern receives',
    query,
    response: { description: 'A page of secrets with their scopes.', schema: effectiveSecretList },
  },
};
