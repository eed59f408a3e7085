import { createGuardrail } from '../../management/guardrails/create-guardrail.ts';
import { deleteGuardrail } from '../../management/guardrails/delete-guardrail.ts';
import { getGuardrail } from '../../management/guardrails/find-guardrail.ts';
import { findUnknownEntries } from '../../management/guardrails/find-unknown.ts';
import { listGuardrailBudgets } from '../../management/guardrails/list-budgets.ts';
import {
  checkCreateGuardrail,
  checkTestGuardrail,
  checkUpdateGuardrail,
  type GuardrailSettingsBody,
} from '../../management/guardrails/schema.ts';
import { testFilters } from '../../management/guardrails/test-filters.ts';
import { updateGuardrail } from '../../management/guardrails/update-guardrail.ts';
import { writeGuardrail } from '../../management/guardrails/write-guardrail.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { GuardrailRecord } from '../../platform/storage/ports/guardrails.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { actorOf, type ManagementApiParts, managementRoutes } from '../management/route.ts';
import { pageQuery, workspaceId } from '../../openapi/parameters.ts';
import { deleted } from '../../openapi/shapes.ts';
import { guardrailBudgetList, guardrailList, guardrailTest, oneGuardrail, savedGuardrail } from './shapes.ts';

const route = managementRoutes('Guardrails');

/** Guardrails: what keys and members may use and spend. @see docs/reference/management.md#guardrails */
export const guardrailRoutes = [
  route('GET', '/guardrails', {
    id: 'listGuardrails',
    summary: 'List the guardrails',
    query: { ...pageQuery, workspace_id: workspaceId },
    response: { description: 'A page of guardrails.', schema: guardrailList },
    handle: async (parts, { request }) => {
      const query = readQuery(request, (reader) => ({
        ...readPage(reader),
        workspaceId: reader.text('workspace_id'),
      }));
      const { rows, total } = await callStore(() => parts.management.listGuardrails(query));
      return { data: rows.map(writeGuardrail), total_count: total };
    },
  }),
  route('POST', '/guardrails', {
    id: 'createGuardrail',
    summary: 'Create a guardrail',
    body: { check: checkCreateGuardrail, example: { name: 'Cheap', limit_usd: 5, reset_interval: 'daily' } },
    response: { status: 201, description: 'The guardrail.', schema: savedGuardrail },
    statuses: [409],
    handle: async (parts, { request, body }) => {
      const guardrail = await callStore(() => createGuardrail(parts, actorOf(request), body));
      return write(parts, guardrail, body);
    },
  }),
  route('POST', '/guardrails/test', {
    id: 'testGuardrail',
    summary: 'Apply content filters to a text',
    body: {
      check: checkTestGuardrail,
      example: { text: 'Mail ada@example.com', content_filter_builtins: [{ slug: 'email', action: 'redact' }] },
    },
    response: { description: 'Findings and actions of the filters.', schema: guardrailTest },
    handle: async (parts, { body }) => {
      return { data: await callStore(() => testFilters(parts, body)) };
    },
  }),
  route('GET', '/guardrails/:id', {
    id: 'findGuardrail',
    summary: 'Find a guardrail',
    response: { description: 'The guardrail.', schema: oneGuardrail },
    handle: async (parts, { params }) => {
      const guardrail = await callStore(() => getGuardrail(parts.management, params.id));
      return { data: writeGuardrail(guardrail) };
    },
  }),
  route('PATCH', '/guardrails/:id', {
    id: 'updateGuardrail',
    summary: 'Change a guardrail',
    body: { check: checkUpdateGuardrail, example: { limit_usd: 10, reset_interval: 'daily' } },
    response: { description: 'The guardrail.', schema: savedGuardrail },
    statuses: [409],
    handle: async (parts, { request, params, body }) => {
      const guardrail = await callStore(() => updateGuardrail(parts, actorOf(request), params.id, body));
      return write(parts, guardrail, body);
    },
  }),
  route('DELETE', '/guardrails/:id', {
    id: 'deleteGuardrail',
    summary: 'Delete a guardrail',
    response: deleted,
    statuses: [409],
    handle: async (parts, { request, params }) => {
      await callStore(() => deleteGuardrail(parts, actorOf(request), params.id));
      return { deleted: true as const };
    },
  }),
  route('GET', '/guardrails/:id/budgets', {
    id: 'listGuardrailBudgets',
    summary: 'List the usage of a guardrail',
    query: pageQuery,
    response: { description: 'A page of keys and members with their usage.', schema: guardrailBudgetList },
    handle: async (parts, { request, params }) => {
      const page = readQuery(request, readPage);
      return callStore(async () => {
        const guardrail = await getGuardrail(parts.management, params.id);
        const { rows, total } = await listGuardrailBudgets(parts, guardrail.id, page);
        return { data: rows, total_count: total, include_byok_in_budgets: guardrail.includeByokInBudgets };
      });
    },
  }),
];

function write(parts: ManagementApiParts, guardrail: GuardrailRecord, body: GuardrailSettingsBody) {
  const context = parts.routingContext();
  const warnings = context ? findUnknownEntries(body, context.catalog) : [];
  return { data: writeGuardrail(guardrail), ...(warnings.length > 0 && { warnings }) };
}
