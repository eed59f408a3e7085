import { Type } from 'typebox';
import { endUser, keyHash, memberId, pageQuery, wordParameter, workspaceId } from '../../openapi/parameters.ts';
import { managementRoutes } from '../management/route.ts';
import { createActivityHandler } from './activity.ts';
import { createAuditHandler } from './audit.ts';
import { createCreditsHandler } from './credits.ts';
import { activity, auditList, creditTotals } from './shapes.ts';

const route = managementRoutes('Accounting');

const dayParameter = (description: string) => ({ description, schema: Type.String({ format: 'date' }) });

export const accountingRoutes = [
  route('GET', '/credits', {
    id: 'showCredits',
    summary: 'Read the credits',
    response: { description: 'Credits and usage in USD.', schema: creditTotals },
    open: createCreditsHandler,
  }),
  route('GET', '/activity', {
    id: 'listActivity',
    summary: 'Read the usage of each day',
    query: {
      date: dayParameter('One of the last 366 days, such as 2026-10-31. Not with `since` or `until`.'),
      since: dayParameter('The first day, one of the last 366. Absent: 31 days before the end.'),
      until: dayParameter('The day after the last one.'),
      include_today: wordParameter('Whether the rows of today are included.', 'true', 'false'),
      group_by: wordParameter(
        'Separates the workspaces, keys, members or end users.',
        'workspace',
        'api_key',
        'user',
        'external_user',
      ),
      api_key_hash: keyHash,
      user_id: memberId,
      workspace_id: workspaceId,
      external_user: endUser,
    },
    response: { description: 'A row for each day, model and provider.', schema: activity },
    open: createActivityHandler,
  }),
  route('GET', '/audit', {
    id: 'listAudit',
    summary: 'List the changes by management',
    query: pageQuery,
    response: { description: 'A page of changes, the newest first.', schema: auditList },
    open: createAuditHandler,
  }),
];
