import { Type } from 'typebox';
import { generationOutcomes } from '../../domain/ledger-entry.ts';
import { routesOf } from '../../http/define-route.ts';
import type { Parameter } from '../../http/operation.ts';
import { filterShapes, finishReasons } from '../../management/generations/read-filters.ts';
import { checkFeedback } from '../../management/generations/schema.ts';
import { entryOrders } from '../../platform/storage/ports/entries.ts';
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
import type { createContentHandler } from './content.ts';
import type { createExportGenerationsHandler } from './export.ts';
import type { createFeedbackHandlers } from './feedback.ts';
import type { createGenerationHandler } from './handler.ts';
import type { createListGenerationsHandler } from './list.ts';
import type { createLiveGenerationsHandler } from './live.ts';
import { feedbackList, feedbackResult, generation, generationContent, generationList } from './shapes.ts';

export interface GenerationRouteParts extends ReturnType<typeof createFeedbackHandlers> {
  findGeneration: ReturnType<typeof createGenerationHandler>;
  listGenerations: ReturnType<typeof createListGenerationsHandler>;
  liveGenerations: ReturnType<typeof createLiveGenerationsHandler>;
  exportGenerations: ReturnType<typeof createExportGenerationsHandler>;
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

const matchShape = (shape: string): string => `^(?:${shape})?$`;
const usdParameter = (description: string) => shapedParameter(description, matchShape(filterShapes.usd));
const msParameter = (description: string) => shapedParameter(description, matchShape(filterShapes.ms));

/** Conditions of a list. */
const listFilters = {
  model: textParameter('The slug of a model: the requested one, or the one that responded.'),
  provider: textParameter('The name or the id of a provider.'),
  outcome: wordParameter('How the requests ended.', ...generationOutcomes),
  finish_reason: wordParameter('The same, in the words of `finish_reason`.', ...Object.values(finishReasons)),
  status: shapedParameter('An HTTP status, or a class of them such as `5xx`.', matchShape(filterShapes.status)),
  error_type: textParameter('The `error_type` of a failure.'),
  tool: textParameter('A server tool that was called, such as `router:web_search`, or a charge, such as `web_search`.'),
  tag: shapedParameter(
    'A tag, as a key and its value: `team:search`. Several have commas between them.',
    matchShape(`(?:${filterShapes.tag})(?:,(?:${filterShapes.tag}))*`),
  ),
  min_cost: usdParameter('USD, inclusive. Requests without a known price are left out.'),
  max_cost: usdParameter('USD, inclusive. Requests without a known price are left out.'),
  min_duration: msParameter('Milliseconds, inclusive.'),
  max_duration: msParameter('Milliseconds, inclusive.'),
  streamed: wordParameter('Whether the response was streamed.', 'true', 'false'),
  cached: wordParameter('Whether a part of the input came from a cache.', 'true', 'false'),
  session_id: textParameter('The id of a session.'),
  external_user: endUser,
  api_key_hash: keyHash,
  user_id: memberId,
  workspace_id: workspaceId,
};

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
    description:
      'The newest is first, unless `sort` and `order` say otherwise. An inference key sees those of its workspace. Every parameter must match.',
    query: {
      cursor: textParameter('`next_cursor` of the page before, with the same parameters.'),
      limit: integerParameter('Generations of a page. 50 by default.', { minimum: 1, maximum: 100 }),
      since: shapedParameter(
        'A date or a time in UTC, inclusive. Required with `sort=cost` and `sort=duration`.',
        timeShape,
      ),
      until: shapedParameter('A date or a time in UTC, exclusive.', timeShape),
      sort: wordParameter('The value that orders the list. `time` by default.', ...entryOrders),
      order: wordParameter('`desc` by default: the largest value is first.', 'desc', 'asc'),
      count: wordParameter('`true` also counts the generations that match.', 'true', 'false'),
      ...listFilters,
    },
    response: { description: 'A page of generations.', schema: generationList },
    takesInterns: true,
    permission: 'any',
    open: ({ listGenerations }) => listGenerations,
  }),
  route('GET', '/generations/live', {
    id: 'liveGenerations',
    summary: 'Follow the generations',
    description:
      'Server-sent events: each generation as soon as it is recorded, by any process. The `id` of an event is a cursor. It ends at a shutdown, when the key is no longer valid, and after an hour.',
    headers: { 'Last-Event-ID': textParameter('The `id` of the last event: the feed continues after it.') },
    query: {
      cursor: textParameter('The same, for clients that cannot send the header.'),
      last: integerParameter('Earlier generations at the beginning. 0 by default. No effect with a cursor.', {
        minimum: 0,
        maximum: 100,
      }),
      ...listFilters,
    },
    response: {
      description: 'Events whose `data` is a generation as in the list, and comments.',
      type: 'text/event-stream',
    },
    statuses: [429],
    takesInterns: true,
    permission: 'any',
    open: ({ liveGenerations }) => liveGenerations,
  }),
  route('GET', '/generations/export', {
    id: 'exportGenerations',
    summary: 'Export the generations with their contents',
    description:
      'Lines of JSON, the oldest generation first, without a limit of their number. If the export cannot continue, the last line has an `error`, and the connection is closed before the end of the body.',
    query: {
      since: shapedParameter('A date or a time in UTC, inclusive.', timeShape),
      until: shapedParameter('A date or a time in UTC, exclusive. The time of the request by default.', timeShape),
      contents: wordParameter('`false` leaves out the stored inputs and outputs.', 'true', 'false'),
      ...listFilters,
    },
    response: {
      description:
        'Lines that are generations as in the list, each with `content`: `input`, `output`, `error` and `truncated`. Null: no contents are kept.',
      type: 'application/x-ndjson',
    },
    statuses: [429],
    open: ({ exportGenerations }) => exportGenerations,
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
