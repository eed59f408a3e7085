import { Type } from 'typebox';
import { generationOutcomes } from '../../domain/ledger-entry.ts';
import { intervals } from '../../domain/time-zone.ts';
import { routesOf } from '../../http/define-route.ts';
import type { Parameter } from '../../http/operation.ts';
import { checkFeedback } from '../../management/generations/schema.ts';
import {
  endUser,
  integerParameter,
  keyHash,
  memberId,
  pageQuery,
  shapedParameter,
  textParameter,
  wordParameter,
  workspaceId,
} from '../../openapi/parameters.ts';
import { managementApi } from '../management/route.ts';
import { analytics, type createAnalyticsHandler, usageGroups } from './analytics.ts';
import type { createContentHandler } from './content.ts';
import type { createFeedbackHandlers } from './feedback.ts';
import type { createGenerationHandler } from './handler.ts';
import type { createListGenerationsHandler } from './list.ts';
import { feedbackList, feedbackResult, generation, generationContent, generationList } from './shapes.ts';

export interface GenerationRouteParts extends ReturnType<typeof createFeedbackHandlers> {
  findGeneration: ReturnType<typeof createGenerationHandler>;
  listGenerations: ReturnType<typeof createListGenerationsHandler>;
  showAnalytics: ReturnType<typeof createAnalyticsHandler>;
  findContent: ReturnType<typeof createContentHandler>;
}

const route = routesOf<GenerationRouteParts>({ ...managementApi, tag: 'Generations' });

const generationId: Parameter = {
  description: 'The id of the generation, from `X-Generation-Id`.',
  schema: Type.String({ minLength: 1 }),
  required: true,
};
const timeShape =
  '^(?:\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])(?:T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,3})?Z)?)?$';

/** Records of requests, and feedback on them. @see docs/reference/management.md */
export const generationRoutes = [
  route('GET', '/generation', {
    id: 'findGeneration',
    summary: 'Find a generation',
    query: { id: generationId },
    response: { description: 'The generation.', schema: generation },
    takesInterns: true,
    permission: 'any',
    open: ({ findGeneration }) => findGeneration,
  }),
  route('GET', '/generations', {
    id: 'listGenerations',
    summary: 'List the generations',
    description: 'The newest is first. An inference key sees those of its workspace.',
    query: {
      cursor: textParameter('`next_cursor` of the page before.'),
      limit: integerParameter('Generations of a page. 50 by default.', { minimum: 1, maximum: 100 }),
      since: shapedParameter('A date or a time in UTC, inclusive.', timeShape),
      until: shapedParameter('A date or a time in UTC, exclusive.', timeShape),
      model: textParameter('The slug of a model.'),
      provider: textParameter('The name of a provider.'),
      outcome: wordParameter('How the requests ended.', ...generationOutcomes),
      session_id: textParameter('The id of a session.'),
      external_user: endUser,
      api_key_hash: keyHash,
      user_id: memberId,
      workspace_id: workspaceId,
    },
    response: { description: 'A page of generations.', schema: generationList },
    takesInterns: true,
    permission: 'any',
    open: ({ listGenerations }) => listGenerations,
  }),
  route('GET', '/analytics', {
    id: 'showAnalytics',
    summary: 'Read the sums of requests over time',
    description: 'The oldest interval is first. An inference key sees the sums of its workspace.',
    query: {
      since: textParameter('A date in the time zone, or a quarter of an hour, inclusive. Absent: 31 days.'),
      until: textParameter('A date in the time zone, or a quarter of an hour, exclusive. Absent: now.'),
      time_zone: textParameter('A zone of the IANA database, such as Europe/Berlin. UTC by default.'),
      interval: wordParameter('The length of the intervals in local time. `day` by default.', ...intervals),
      group_by: textParameter(
        `The dimensions of the rows, with commas between them: ${Object.keys(usageGroups).join(', ')}, tag:KEY.`,
      ),
      percentiles: wordParameter('Whether rows have the durations of requests.', 'true', 'false'),
      model: textParameter('The slug of a model.'),
      provider: textParameter('The name of a provider.'),
      tag: textParameter('A tag with its value, such as team:search.'),
      api_key_hash: keyHash,
      user_id: memberId,
      workspace_id: workspaceId,
    },
    response: { description: 'A row for each interval and each value of the dimensions.', schema: analytics },
    takesInterns: true,
    permission: 'any',
    open: ({ showAnalytics }) => showAnalytics,
  }),
  route('GET', '/generation/content', {
    id: 'findContent',
    summary: 'Read the stored input and output of a generation',
    query: { id: generationId },
    response: { description: 'The contents.', schema: generationContent },
    open: ({ findContent }) => findContent,
  }),
  route('POST', '/generation/feedback', {
    id: 'sendFeedback',
    summary: 'Record feedback on a generation',
    body: {
      check: checkFeedback,
      example: { generation_id: 'gen-0Vbm2BO5eZctruGbgk65hI3B', category: 'good', comment: null },
    },
    response: { description: 'The feedback was stored.', schema: feedbackResult },
    open: ({ sendFeedback }) => sendFeedback,
  }),
  route('GET', '/generation/feedback', {
    id: 'listFeedback',
    summary: 'List the feedback',
    query: { ...pageQuery, generation_id: textParameter('The id of a generation.') },
    response: { description: 'A page of feedback.', schema: feedbackList },
    open: ({ listFeedback }) => listFeedback,
  }),
];
