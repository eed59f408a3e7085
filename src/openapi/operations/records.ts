import { Type } from 'typebox';
import { generationOutcomes } from '../../domain/ledger-entry.ts';
import { checkFeedback } from '../../management/generations/schema.ts';
import {
  activity,
  auditList,
  creditTotals,
  feedbackList,
  feedbackResult,
  generation,
  generationContent,
  generationList,
} from '../bodies/generations.ts';
import { health, readiness } from '../bodies/files.ts';
import type { Operations, Parameter } from '../operation.ts';
import {
  integerParameter,
  keyHash,
  memberId,
  page,
  shapedParameter,
  textParameter,
  wordParameter,
  workspaceId,
} from './parameters.ts';
import { openObject } from '../bodies/shapes.ts';

const generationId: Parameter = {
  description: 'The id of the generation, from `X-Generation-Id`.',
  schema: Type.String({ minLength: 1 }),
  required: true,
};
const timeShape =
  '^(?:\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])(?:T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,3})?Z)?)?$';

/** The routes of records, and of the gateway itself. */
const dayParameter = (description: string) => ({ description, schema: Type.String({ format: 'date' }) });
const endUser = textParameter('An end user: the hash that generations show, or with `workspace_id` its id.');

export const recordOperations: Operations = {
  'GET /api/v1/generation': {
    tag: 'Generations',
    summary: 'Find a generation',
    query: { id: generationId },
    response: { description: 'The generation.', schema: generation },
  },
  'GET /api/v1/generations': {
    tag: 'Generations',
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
  },
  'GET /api/v1/generation/content': {
    tag: 'Generations',
    summary: 'Read the stored input and output of a generation',
    query: { id: generationId },
    response: { description: 'The contents.', schema: generationContent },
  },
  'POST /api/v1/generation/feedback': {
    tag: 'Generations',
    summary: 'Record feedback on a generation',
    body: {
      schema: checkFeedback.schema,
      example: { generation_id: 'gen-0Vbm2BO5eZctruGbgk65hI3B', category: 'good', comment: null },
    },
    response: { description: 'The feedback was stored.', schema: feedbackResult },
  },
  'GET /api/v1/generation/feedback': {
    tag: 'Generations',
    summary: 'List the feedback',
    query: { ...page, generation_id: textParameter('The id of a generation.') },
    response: { description: 'A page of feedback.', schema: feedbackList },
  },
  'GET /api/v1/credits': {
    tag: 'Accounting',
    summary: 'Read the credits',
    response: { description: 'Credits and usage in USD.', schema: creditTotals },
  },
  'GET /api/v1/activity': {
    tag: 'Accounting',
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
  },
  'GET /api/v1/audit': {
    tag: 'Accounting',
    summary: 'List the changes by management',
    query: page,
    response: { description: 'A page of changes, the newest first.', schema: auditList },
  },
  'GET /api/v1/openapi.json': {
    tag: 'Gateway',
    summary: 'Read this document',
    response: { description: 'OpenAPI 3.1.', schema: openObject },
  },
  'GET /': {
    tag: 'Gateway',
    summary: 'Show a page for people',
    response: { description: 'First steps, for browsers.', type: 'text/html' },
  },
  'GET /health': {
    tag: 'Gateway',
    summary: 'Check whether the process runs',
    response: { description: 'It runs.', schema: health },
  },
  'GET /ready': {
    tag: 'Gateway',
    summary: 'Check whether the process accepts requests',
    statuses: [503],
    response: { description: 'It does. Other fields name problems.', schema: readiness },
  },
  'GET /metrics': {
    tag: 'Gateway',
    summary: 'Read the metrics',
    description: '`server.metrics` decides whether a management key is required.',
    statuses: [401, 403, 404],
    response: { description: 'Prometheus text.', type: 'text/plain' },
  },
};
