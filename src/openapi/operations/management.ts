import { checkPutBudget } from '../../management/budgets/schema.ts';
import {
  checkCreateGuardrail,
  checkKeyHashes,
  checkMemberUserIds,
  checkTestGuardrail,
  checkUpdateGuardrail,
} from '../../management/guardrails/schema.ts';
import { checkCreateKey, checkRotateKey, checkUpdateKey } from '../../management/keys/schema.ts';
import { checkMemberIds, checkUpdateMember } from '../../management/members/schema.ts';
import { checkCreateWorkspace, checkUpdateWorkspace } from '../../management/workspaces/schema.ts';
import * as bodies from '../bodies/management.ts';
import { oneOf } from '../../schema/shapes.ts';
import { deletion } from '../bodies/shapes.ts';
import type { Operations } from '../operation.ts';
import { offset, page, wordParameter, workspaceId } from './parameters.ts';

const deleted = { description: 'It was deleted.', schema: deletion };

const keyOperations: Operations = {
  'GET /api/v1/key': {
    tag: 'Keys',
    summary: 'Read the key of the request',
    response: { description: 'The key, its limits and its usage.', schema: bodies.currentKey },
  },
  'GET /api/v1/keys': {
    tag: 'Keys',
    summary: 'List the keys',
    query: {
      offset,
      include_disabled: wordParameter('Whether disabled keys are included.', 'true', 'false'),
      workspace_id: workspaceId,
    },
    response: { description: 'A page of 100 keys.', schema: bodies.keyList },
  },
  'POST /api/v1/keys': {
    tag: 'Keys',
    summary: 'Create a key',
    body: { schema: checkCreateKey.schema, example: { name: 'shop', limit: 10, limit_reset: 'monthly' } },
    response: { status: 201, description: 'The key. It is not shown again.', schema: bodies.createdKey },
    statuses: [409],
  },
  'GET /api/v1/keys/:hash': {
    tag: 'Keys',
    summary: 'Find a key',
    response: { description: 'The key.', schema: bodies.oneKey },
  },
  'PATCH /api/v1/keys/:hash': {
    tag: 'Keys',
    summary: 'Change a key',
    body: { schema: checkUpdateKey.schema, example: { disabled: true } },
    response: { description: 'The key.', schema: bodies.oneKey },
    statuses: [409],
  },
  'DELETE /api/v1/keys/:hash': { tag: 'Keys', summary: 'Delete a key', response: deleted, statuses: [409] },
  'POST /api/v1/keys/:hash/rotate': {
    tag: 'Keys',
    summary: 'Replace a key',
    description: 'The old key stays valid for `grace_seconds`.',
    body: { schema: checkRotateKey.schema, isOptional: true, example: { grace_seconds: 3600 } },
    response: { status: 201, description: 'The new key and the old one.', schema: bodies.rotatedKey },
    statuses: [409],
  },
};

const interval = { interval: oneOf('daily', 'weekly', 'monthly', 'lifetime') };

const workspaceOperations: Operations = {
  'GET /api/v1/workspaces': {
    tag: 'Workspaces',
    summary: 'List the workspaces',
    query: page,
    response: { description: 'A page of workspaces.', schema: bodies.workspaceList },
  },
  'POST /api/v1/workspaces': {
    tag: 'Workspaces',
    summary: 'Create a workspace',
    body: { schema: checkCreateWorkspace.schema, example: { name: 'Research', slug: 'research' } },
    response: { status: 201, description: 'The workspace.', schema: bodies.savedWorkspace },
    statuses: [409],
  },
  'GET /api/v1/workspaces/:id': {
    tag: 'Workspaces',
    summary: 'Find a workspace',
    response: { description: 'The workspace.', schema: bodies.oneWorkspace },
  },
  'PATCH /api/v1/workspaces/:id': {
    tag: 'Workspaces',
    summary: 'Change a workspace',
    body: { schema: checkUpdateWorkspace.schema, example: { default_text_model: 'simulator/echo' } },
    response: { description: 'The workspace.', schema: bodies.savedWorkspace },
    statuses: [409],
  },
  'DELETE /api/v1/workspaces/:id': {
    tag: 'Workspaces',
    summary: 'Delete a workspace',
    query: {
      confirm_default_workspace_deletion: wordParameter('`true` is required for the default one.', 'true', 'false'),
    },
    response: deleted,
    statuses: [409],
  },
  'GET /api/v1/workspaces/:id/budgets': {
    tag: 'Workspaces',
    summary: 'List the budgets of a workspace',
    response: { description: 'The budgets and their usage.', schema: bodies.budgetList },
  },
  'GET /api/v1/workspaces/:id/budgets/:interval': {
    tag: 'Workspaces',
    summary: 'Find a budget',
    path: interval,
    response: { description: 'The budget and its usage.', schema: bodies.oneBudget },
  },
  'PUT /api/v1/workspaces/:id/budgets/:interval': {
    tag: 'Workspaces',
    summary: 'Set a budget',
    path: interval,
    body: { schema: checkPutBudget.schema, example: { limit_usd: 100 } },
    response: { description: 'The budget and its usage.', schema: bodies.oneBudget },
  },
  'DELETE /api/v1/workspaces/:id/budgets/:interval': {
    tag: 'Workspaces',
    summary: 'Delete a budget',
    path: interval,
    response: deleted,
  },
  'GET /api/v1/workspaces/:id/members': {
    tag: 'Workspaces',
    summary: 'List the members of a workspace',
    query: page,
    response: { description: 'A page of members.', schema: bodies.workspaceMemberList },
  },
  'POST /api/v1/workspaces/:id/members/add': {
    tag: 'Workspaces',
    summary: 'Add members to a workspace',
    body: { schema: checkMemberIds.schema, example: { user_ids: ['ada'] } },
    response: { description: 'The members of the body.', schema: bodies.addedMembers },
  },
  'POST /api/v1/workspaces/:id/members/remove': {
    tag: 'Workspaces',
    summary: 'Remove members from a workspace',
    body: { schema: checkMemberIds.schema, example: { user_ids: ['ada'] } },
    response: { description: 'The number of removed members.', schema: bodies.removedMembers },
    statuses: [409],
  },
  'GET /api/v1/members': {
    tag: 'Members',
    summary: 'List the members',
    query: page,
    response: { description: 'A page of members.', schema: bodies.memberList },
  },
  'GET /api/v1/members/:id': {
    tag: 'Members',
    summary: 'Find a member',
    response: { description: 'The member.', schema: bodies.oneMember },
  },
  'PATCH /api/v1/members/:id': {
    tag: 'Members',
    summary: 'Change a member',
    body: { schema: checkUpdateMember.schema, example: { requests_per_minute: 60 } },
    response: { description: 'The member.', schema: bodies.oneMember },
  },
};

const guardrailOperations: Operations = {
  'GET /api/v1/guardrails': {
    tag: 'Guardrails',
    summary: 'List the guardrails',
    query: { ...page, workspace_id: workspaceId },
    response: { description: 'A page of guardrails.', schema: bodies.guardrailList },
  },
  'POST /api/v1/guardrails': {
    tag: 'Guardrails',
    summary: 'Create a guardrail',
    body: { schema: checkCreateGuardrail.schema, example: { name: 'Cheap', limit_usd: 5, reset_interval: 'daily' } },
    response: { status: 201, description: 'The guardrail.', schema: bodies.savedGuardrail },
    statuses: [409],
  },
  'POST /api/v1/guardrails/test': {
    tag: 'Guardrails',
    summary: 'Apply content filters to a text',
    body: {
      schema: checkTestGuardrail.schema,
      example: { text: 'Mail ada@example.com', content_filter_builtins: [{ slug: 'email', action: 'redact' }] },
    },
    response: { description: 'Findings and actions of the filters.', schema: bodies.guardrailTest },
  },
  'GET /api/v1/guardrails/:id': {
    tag: 'Guardrails',
    summary: 'Find a guardrail',
    response: { description: 'The guardrail.', schema: bodies.oneGuardrail },
  },
  'PATCH /api/v1/guardrails/:id': {
    tag: 'Guardrails',
    summary: 'Change a guardrail',
    body: { schema: checkUpdateGuardrail.schema, example: { limit_usd: 10, reset_interval: 'daily' } },
    response: { description: 'The guardrail.', schema: bodies.savedGuardrail },
    statuses: [409],
  },
  'DELETE /api/v1/guardrails/:id': {
    tag: 'Guardrails',
    summary: 'Delete a guardrail',
    response: deleted,
    statuses: [409],
  },
  'GET /api/v1/guardrails/:id/budgets': {
    tag: 'Guardrails',
    summary: 'List the usage of a guardrail',
    query: page,
    response: { description: 'A page of keys and members with their usage.', schema: bodies.guardrailBudgetList },
  },
  'GET /api/v1/guardrails/assignments/keys': {
    tag: 'Guardrails',
    summary: 'List the guardrails of all keys',
    query: page,
    response: { description: 'A page of assignments.', schema: bodies.keyAssignmentList },
  },
  'GET /api/v1/guardrails/assignments/members': {
    tag: 'Guardrails',
    summary: 'List the guardrails of all members',
    query: page,
    response: { description: 'A page of assignments.', schema: bodies.memberAssignmentList },
  },
  'GET /api/v1/guardrails/:id/assignments/keys': {
    tag: 'Guardrails',
    summary: 'List the keys of a guardrail',
    query: page,
    response: { description: 'A page of assignments.', schema: bodies.keyAssignmentList },
  },
  'POST /api/v1/guardrails/:id/assignments/keys': {
    tag: 'Guardrails',
    summary: 'Assign a guardrail to keys',
    body: { schema: checkKeyHashes.schema, example: { key_hashes: ['0'.repeat(64)] } },
    response: { description: 'The number of assigned keys.', schema: bodies.assigned },
    statuses: [409],
  },
  'POST /api/v1/guardrails/:id/assignments/keys/remove': {
    tag: 'Guardrails',
    summary: 'Take a guardrail from keys',
    body: { schema: checkKeyHashes.schema, example: { key_hashes: ['0'.repeat(64)] } },
    response: { description: 'The number of keys without it.', schema: bodies.unassigned },
  },
  'GET /api/v1/guardrails/:id/assignments/members': {
    tag: 'Guardrails',
    summary: 'List the members of a guardrail',
    query: page,
    response: { description: 'A page of assignments.', schema: bodies.memberAssignmentList },
  },
  'POST /api/v1/guardrails/:id/assignments/members': {
    tag: 'Guardrails',
    summary: 'Assign a guardrail to members',
    body: { schema: checkMemberUserIds.schema, example: { member_user_ids: ['ada'] } },
    response: { description: 'The number of assigned members.', schema: bodies.assigned },
    statuses: [409],
  },
  'POST /api/v1/guardrails/:id/assignments/members/remove': {
    tag: 'Guardrails',
    summary: 'Take a guardrail from members',
    body: { schema: checkMemberUserIds.schema, example: { member_user_ids: ['ada'] } },
    response: { description: 'The number of members without it.', schema: bodies.unassigned },
  },
};

/** The routes of the management API, and of the key of a request. */
export const managementOperations: Operations = { ...keyOperations, ...workspaceOperations, ...guardrailOperations };
