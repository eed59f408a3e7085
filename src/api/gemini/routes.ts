import { Type } from 'typebox';
import { routesOf } from '../../http/define-route.ts';
import { GEMINI_BASE } from '../../http/gemini-paths.ts';
import { integerParameter, runHeaders, textParameter, wordParameter } from '../../openapi/parameters.ts';
import type { EmbeddingsParts } from '../embeddings/handler.ts';
import type { createModelsHandlers } from '../models/handlers.ts';
import type { TextParts } from '../serve-text.ts';
import { writeGeminiError } from './errors.ts';
import { createGeminiHandler } from './handler.ts';
import { geminiError, geminiModel, geminiModelList, geminiRequest, geminiResult } from './shapes.ts';
import type { ReadCatalog } from './target.ts';

export interface GeminiRouteParts
  extends Pick<ReturnType<typeof createModelsHandlers>, 'listGeminiModels' | 'findGeminiModel'> {
  text: TextParts;
  embeddings: EmbeddingsParts;
  catalog: ReadCatalog;
}

const route = routesOf<GeminiRouteParts>({
  base: '',
  tag: 'Inference',
  permission: 'inference',
  errors: writeGeminiError,
  error: geminiError,
});

const actions = ['generateContent', 'streamGenerateContent', 'countTokens', 'embedContent', 'batchEmbedContents'];
/** The end of a path: a model and an action. */
const segment = Type.String({ pattern: `.:(?:${actions.join('|')})$` });

const call = {
  summary: 'Call a model as clients of Google do',
  description:
    'The path ends with the model and an action: `:generateContent`, `:streamGenerateContent`, `:countTokens`, `:embedContent` or `:batchEmbedContents`. Every model serves it.',
  params: { model: segment },
  query: { alt: wordParameter('`sse` streams events, otherwise a JSON array.', 'sse', 'json') },
  headers: runHeaders,
  body: { schema: geminiRequest, example: { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] } },
  response: {
    description: 'The response of the action.',
    schema: geminiResult,
    stream: 'Server-sent events. `data` of each is a response with the parts since the last one.',
  },
  statuses: [405], // without an action
  takesInterns: true,
  open: ({ text, embeddings, catalog }: GeminiRouteParts) => createGeminiHandler(text, embeddings, catalog),
};
const read = { tag: 'Models', permission: 'any', takesInterns: true } as const;

/** The API of Google. The path of a request names the model and the action. @see docs/reference/gemini.md */
export const geminiRoutes = [
  route('POST', `${GEMINI_BASE}/models/*`, { id: 'callGemini', ...call }),
  route('POST', `${GEMINI_BASE}/tunedModels/*`, { id: 'callTunedGemini', ...call }),
  route('POST', '/api/v1/models/*', { id: 'callGeminiV1', ...call }),
  route('POST', '/api/v1/tunedModels/*', { id: 'callTunedGeminiV1', ...call }),
  // The Vercel AI SDK writes no `models/` before a name with a slash.
  route('POST', `${GEMINI_BASE}/:author/:call`, { id: 'callNamedGemini', ...call, params: { call: segment } }),
  route('GET', `${GEMINI_BASE}/models`, {
    id: 'listGeminiModels',
    ...read,
    summary: 'List the models as clients of Google do',
    query: {
      pageSize: integerParameter('Models of a page. 50 by default. More than 1000 count as 1000.', {
        minimum: 0,
        maximum: 999_999_999,
      }),
      pageToken: textParameter('The `nextPageToken` of the page before.'),
    },
    response: { description: 'A page of the models.', schema: geminiModelList },
    open: ({ listGeminiModels }) => listGeminiModels,
  }),
  route('GET', `${GEMINI_BASE}/models/*`, {
    id: 'findGeminiModel',
    ...read,
    summary: 'Find a model as clients of Google do',
    response: { description: 'The model.', schema: geminiModel },
    open: ({ findGeminiModel }) => findGeminiModel,
  }),
];
