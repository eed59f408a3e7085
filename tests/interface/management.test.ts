import { readFileSync } from 'node:fs';
import { Compile } from 'typebox/schema';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { book, manage } from '../api/manage.ts';
import { pickDefinitions } from './pick-definitions.ts';

const file = new URL('management.schema.json', import.meta.url);
const { $defs } = JSON.parse(readFileSync(file, 'utf8')) as { $defs: Record<string, object> };

const generation = 'gen-0123456789abcdefghijklmn';
let gateway: TestGateway;
const ask = manage(() => gateway);
beforeAll(async () => {
  gateway = await testGateway();
  await book(gateway, { id: generation, createdAtMs: Date.now() - 86_400_000 });
  const { id: keyId } = (await ask('POST', '/keys', { name: 'k' })).body.data;
  await ask('PATCH', '/workspaces/main', { description: 'x', io_logging_api_key_ids: [keyId] });
  await ask('PUT', '/workspaces/main/budgets/daily', { limit_usd: 5 });
  for (const body of [{}, { limit: 5, creator_user_id: 'ada', external: { user: 'u' } }]) {
    await ask('POST', '/keys', { name: 'k', expires_at: '2101-01-01T00:00:00Z', ...body });
  }
  const { id } = (await ask('POST', '/guardrails', { name: 'g' })).body.data;
  const { hash } = (await ask('POST', '/keys', { name: 'k' })).body.data;
  await ask('POST', `/guardrails/${id}/assignments/keys`, { key_hashes: [hash] });
  await ask('POST', `/guardrails/${id}/assignments/members`, { member_user_ids: ['ada'] });
});
afterAll(() => gateway.close());

it.each([
  ['CurrentKeyResponse', 'GET', '/key'],
  ['KeyListResponse', 'GET', '/keys'],
  ['CreateKeyResponse', 'POST', '/keys', { name: 'k', limit: 5, limit_reset: 'daily' }],
  ['KeyResponse', 'PATCH', '/keys/$key', { name: 'new' }],
  ['DeletedResponse', 'DELETE', '/keys/$key'],
  ['WorkspaceListResponse', 'GET', '/workspaces'],
  ['WorkspaceResponse', 'POST', '/workspaces', { name: 'New', slug: 'new' }],
  ['DeletedResponse', 'DELETE', '/workspaces/new'],
  ['WorkspaceBudgetResponse', 'PUT', '/workspaces/main/budgets/lifetime', { limit_usd: 50 }],
  ['WorkspaceBudgetListResponse', 'GET', '/workspaces/main/budgets'],
  ['DeletedResponse', 'DELETE', '/workspaces/main/budgets/daily'],
  ['WorkspaceMembersAddedResponse', 'POST', '/workspaces/other/members/add', { user_ids: ['ada', 'ben'] }],
  ['WorkspaceMembersRemovedResponse', 'POST', '/workspaces/other/members/remove', { user_ids: ['ben'] }],
  ['GuardrailResponse', 'POST', '/guardrails', { name: 'g', allowed_models: ['acme/*'], enforce_zdr: true }],
  ['GuardrailListResponse', 'GET', '/guardrails'],
  ['GuardrailResponse', 'PATCH', '/guardrails/$guardrail', { description: 'x' }],
  ['KeyAssignmentListResponse', 'GET', '/guardrails/assignments/keys'],
  ['MemberAssignmentListResponse', 'GET', '/guardrails/assignments/members'],
  ['DeletedResponse', 'DELETE', '/guardrails/$guardrail'],
  ['CreditsResponse', 'GET', '/credits'],
  ['ActivityResponse', 'GET', '/activity?group_by=workspace'],
  ['GenerationResponse', 'GET', `/generation?id=${generation}`],
])('%s is the response of %s %s', async (shape, method, path, body?: object) => {
  const [key] = (await ask('GET', '/keys')).body.data;
  const [guardrail] = (await ask('GET', '/guardrails')).body.data;
  const answer = await ask(method, path.replace('$key', key.hash).replace('$guardrail', guardrail.id), body);
  expect([200, 201]).toContain(answer.status);
  const schema = { $ref: `#/$defs/${shape}` };
  const check = Compile({ $defs: pickDefinitions(schema, $defs), ...schema } as object);
  if (!check.Check(answer.body)) expect.fail(JSON.stringify(check.Errors(answer.body)));
});
