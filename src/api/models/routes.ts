import { Type } from 'typebox';
import { inputModalities, outputModalities, parameterNames } from '../../domain/endpoint.ts';
import { modelSorts } from '../../domain/model-sorts.ts';
import { routesOf } from '../../http/define-route.ts';
import type { Parameter } from '../../http/operation.ts';
import { openAIError } from '../../openapi/error-shapes.ts';
import { integerParameter, offset, textParameter, wordParameter, wordsParameter } from '../../openapi/parameters.ts';
import { inData } from '../../openapi/shapes.ts';
import { forClients } from '../errors-of-clients.ts';
import type { createImageModelsHandlers } from '../images/models.ts';
import { writeOpenAIError } from '../openai-errors.ts';
import type { createModelsHandlers } from './handlers.ts';
import {
  endpointList,
  imageEndpoints,
  imageModelList,
  model,
  modelCount,
  modelEndpoints,
  modelList,
  providerList,
  retrievedModels,
} from './shapes.ts';

export interface ModelRouteParts
  extends ReturnType<typeof createModelsHandlers>,
    ReturnType<typeof createImageModelsHandlers> {}

const route = routesOf<ModelRouteParts>({ base: '/api/v1', tag: 'Models', permission: 'any' });

/** Writes errors of the lists that clients of several formats read. */
const shared = { errors: forClients(writeOpenAIError), error: openAIError };

const price = (description: string): Parameter => ({
  description,
  schema: Type.Number({ minimum: 0, maximum: 1_000_000 }),
});

const filters = {
  q: textParameter('Words that must be in the slug, the name or the description.'),
  supported_parameters: wordsParameter(
    'Names with commas between them; a model must have all of them.',
    parameterNames,
  ),
  input_modalities: wordsParameter('Names with commas between them; a model must read all of them.', inputModalities),
  output_modalities: wordsParameter('Names with commas between them, or `all`. `text` by default.', [
    'all',
    ...outputModalities,
  ]),
  context: integerParameter('The minimum context length, in tokens.', {
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
  }),
  min_price: price('The minimum price of input, in USD per million tokens.'),
  max_price: price('The maximum price of input, in USD per million tokens.'),
  providers: textParameter('Providers or tags of endpoints, with commas between them.'),
  model_authors: textParameter('Authors with commas between them: the part before the slash.'),
};

const listQuery = {
  ...filters,
  sort: wordParameter('The order. `newest` by default.', ...modelSorts),
  offset,
  limit: integerParameter('Models of a page. All of up to 500 by default.', { minimum: 1, maximum: 1000 }),
};

/** The outputs follow from the path. */
const { output_modalities: _, ...otherQuery } = listQuery;

/** The catalog. @see docs/reference/models.md */
export const modelRoutes = [
  route('GET', '/models', {
    id: 'listModels',
    summary: 'List the models',
    description: 'With the header `anthropic-version` in the shape of Anthropic’s API.',
    query: listQuery,
    response: { description: 'The models that match the query.', schema: modelList },
    takesInterns: true,
    ...shared,
    open: ({ listModels }) => listModels,
  }),
  route('GET', '/models/user', {
    id: 'listUserModels',
    summary: 'List the models that the key may use',
    description: 'The same as `GET /models`, which also leaves out the models that guardrails of the key forbid.',
    query: listQuery,
    response: { description: 'The models that match the query.', schema: modelList },
    takesInterns: true,
    open: ({ listUserModels }) => listUserModels,
  }),
  route('GET', '/embeddings/models', {
    id: 'listEmbeddingModels',
    summary: 'List the models that make embeddings',
    query: otherQuery,
    response: { description: 'The models that match the query.', schema: modelList },
    takesInterns: true,
    open: ({ listEmbeddingModels }) => listEmbeddingModels,
  }),
  route('GET', '/rerank/models', {
    id: 'listRerankModels',
    summary: 'List the models that rerank documents',
    query: otherQuery,
    response: { description: 'The models that match the query.', schema: modelList },
    takesInterns: true,
    open: ({ listRerankModels }) => listRerankModels,
  }),
  route('GET', '/models/count', {
    id: 'countModels',
    summary: 'Count the models',
    query: filters,
    response: { description: 'The number of models that match the query.', schema: modelCount },
    takesInterns: true,
    open: ({ countModels }) => countModels,
  }),
  route('GET', '/model/*', {
    id: 'findModel',
    summary: 'Find a model',
    response: { description: 'The model.', schema: inData(model) },
    takesInterns: true,
    open: ({ findModel }) => findModel,
  }),
  route('GET', '/models/*', {
    id: 'retrieveModel',
    summary: 'Find a model as clients of the compatible API do',
    response: { description: 'The model, not in `data`.', schema: retrievedModels },
    takesInterns: true,
    ...shared,
    open: ({ retrieveModel }) => retrieveModel,
  }),
  route('GET', '/models/:author/:slug/endpoints', {
    id: 'listEndpoints',
    summary: 'List the endpoints of a model',
    response: { description: 'The model and its endpoints.', schema: modelEndpoints },
    takesInterns: true,
    open: ({ listEndpoints }) => listEndpoints,
  }),
  route('GET', '/endpoints/zdr', {
    id: 'listZeroRetentionEndpoints',
    summary: 'List the endpoints that retain no data',
    response: { description: 'The endpoints of all models that are known to retain no data.', schema: endpointList },
    takesInterns: true,
    open: ({ listZeroRetentionEndpoints }) => listZeroRetentionEndpoints,
  }),
  route('GET', '/providers', {
    id: 'listProviders',
    summary: 'List the providers',
    response: { description: 'The providers with endpoints that the key may use.', schema: providerList },
    takesInterns: true,
    open: ({ listProviders }) => listProviders,
  }),
  route('GET', '/images/models', {
    id: 'listImageModels',
    summary: 'List the models that make images',
    response: { description: 'The models.', schema: imageModelList },
    takesInterns: true,
    open: ({ listImageModels }) => listImageModels,
  }),
  route('GET', '/images/models/:author/:slug/endpoints', {
    id: 'listImageEndpoints',
    summary: 'List the endpoints of a model that makes images',
    response: { description: 'The endpoints.', schema: imageEndpoints },
    takesInterns: true,
    open: ({ listImageEndpoints }) => listImageEndpoints,
  }),
];
