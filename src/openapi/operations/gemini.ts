import { Type } from 'typebox';
import { geminiError, geminiModel, geminiModelList, geminiRequest, geminiResult } from '../bodies/gemini.ts';
import type { Operation, Operations } from '../operation.ts';
import { integerParameter, runHeaders, textParameter, wordParameter } from './parameters.ts';

const actions = ['generateContent', 'streamGenerateContent', 'countTokens', 'embedContent', 'batchEmbedContents'];
/** The end of a path: a model and an action. */
const segment = Type.String({ pattern: `.:(?:${actions.join('|')})$` });

const call: Operation = {
  tag: 'Inference',
  summary: 'Call a model as clients of Google do',
  description:
    'The path ends with the model and an action: `:generateContent`, `:streamGenerateContent`, `:countTokens`, `:embedContent` or `:batchEmbedContents`. Every model serves it.',
  path: { model: segment },
  query: { alt: wordParameter('`sse` streams events, otherwise a JSON array.', 'sse', 'json') },
  headers: runHeaders,
  body: { schema: geminiRequest, example: { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] } },
  response: {
    description: 'The response of the action.',
    schema: geminiResult,
    stream: 'Server-sent events. `data` of each is a response with the parts since the last one.',
  },
  statuses: [405], // without an action
  error: geminiError,
};

/** The routes of the Gemini API. */
export const geminiOperations: Operations = {
  'POST /api/v1beta/models/*': call,
  'POST /api/v1beta/:author/:call': { ...call, id: 'callNamedGemini', path: { call: segment } },
  'POST /api/v1beta/tunedModels/*': { ...call, id: 'callTunedGemini' },
  'POST /api/v1/models/*': { ...call, id: 'callGeminiV1' },
  'POST /api/v1/tunedModels/*': { ...call, id: 'callTunedGeminiV1' },
  'GET /api/v1beta/models': {
    tag: 'Models',
    summary: 'List the models as clients of Google do',
    query: {
      pageSize: integerParameter('Models of a page. 50 by default. More than 1000 count as 1000.', {
        minimum: 0,
        maximum: 999_999_999,
      }),
      pageToken: textParameter('The `nextPageToken` of the page before.'),
    },
    response: { description: 'A page of the models.', schema: geminiModelList },
    error: geminiError,
  },
  'GET /api/v1beta/models/*': {
    tag: 'Models',
    summary: 'Find a model as clients of Google do',
    response: { description: 'The model.', schema: geminiModel },
    error: geminiError,
  },
};
