import { Type } from 'typebox';
import { TAG_KEY } from '../../domain/tags.ts';
import { intervals } from '../../domain/time-zone.ts';
import {
  endUser,
  keyHash,
  memberId,
  pageQuery,
  shapedParameter,
  textParameter,
  wordParameter,
  workspaceId,
} from '../../openapi/parameters.ts';
import { filterShapes } from '../../management/generations/read-filters.ts';
import { managementRoutes } from '../management/route.ts';
import { createActivityHandler } from './activity.ts';
import { analytics, createAnalyticsHandler, usageGroups } from './analytics.ts';
import { createAuditHandler } from './audit.ts';
import { createCreditsHandler } from './credits.ts';
import { activity, auditList, creditTotals } from './shapes.ts';

const route = managementRoutes('Accounting');

const group = `(?:${Object.keys(usageGroups).join('|')})`;
const tagGroup = `tag:${TAG_KEY.slice(1, -1)}`;
const groupShape = `^(?:${group}(?:,${group})*(?:,${tagGroup})?(?:,${group})*|${tagGroup}(?:,${group})*)?$`;

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
  route('GET', '/analytics', {
    id: 'showAnalytics',
    summary: 'Read the sums of requests over time',
    description: 'The oldest interval is first. An inference key sees the sums of its workspace.',
    query: {
      since: textParameter(
        'A date in the time zone, or a quarter of an hour, inclusive. Without it, the report has 31 days.',
      ),
      until: textParameter(
        'A date in the time zone, or a quarter of an hour, exclusive. Without it, the report ends now.',
      ),
      time_zone: textParameter('A zone of the IANA database, such as Europe/Berlin. UTC by default.'),
      interval: wordParameter('The length of the intervals in local time. `day` by default.', ...intervals),
      group_by: shapedParameter(
        `The dimensions of the rows, with commas between them: ${Object.keys(usageGroups).join(', ')}, and at most one tag:KEY.`,
        groupShape,
      ),
      percentiles: wordParameter('Whether rows have the durations of requests.', 'true', 'false'),
      model: textParameter('The slug of a model.'),
      provider: textParameter('The name of a provider.'),
      tag: shapedParameter('A tag with its value, such as team:search.', `^(?:${filterShapes.tag})?$`),
      api_key_hash: keyHash,
      user_id: memberId,
      workspace_id: workspaceId,
    },
    response: { description: 'A row for each interval and each value of the dimensions.', schema: analytics },
    takesInterns: true,
    permission: 'any',
    open: createAnalyticsHandler,
  }),
  route('GET', '/audit', {
    id: 'listAudit',
    summary: 'List the changes by management',
    query: pageQuery,
    response: { description: 'A page of changes, the newest first.', schema: auditList },
    open: createAuditHandler,
  }),
];
