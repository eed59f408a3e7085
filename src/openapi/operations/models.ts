import { openAIError } from '../bodies/error.ts';
import { Type } from 'typebox';
import { inputModalities, outputModalities, parameterNames } from '../../domain/endpoint.ts';
import { modelSorts } from '../../domain/model-sorts.ts';
import {
  imageEndpoints,
  imageModelList,
  model,
  modelCount,
  endpointList,
  modelEndpoints,
  modelList,
  providerList,
  retrievedModels,
} from '../bodies/models.ts';
import { inData } from '../bodies/shapes.ts';
import type { Operations, Parameter } from '../operation.ts';
import { integerParameter, offset, textParameter, wordParameter, wordsParameter } from './parameters.ts';

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

/** The routes of the catalog. */
export const modelOperations: Operations = {
  'GET /api/v1/models': {
    error: openAIError,
    tag: 'Models',
    summary: 'List the models',
    description: 'With the header `anthropic-version` in the shape of Anthropic’s API.',
    query: listQuery,
    response: { description: 'The models that match the query.', schema: modelList },
  },
  'GET /api/v1/models/user': {
    tag: 'Models',
    summary: 'List the models that the key may use',
    description: 'The same as `GET /models`, which also leaves out the models that guardrails of the key forbid.',
    query: listQuery,
    response: { description: 'The models that match the query.', schema: modelList },
  },
  'GET /api/v1/embeddings/models': {
    tag: 'Models',
    summary: 'List the models that make embeddings',
    query: otherQuery,
    response: { description: 'The models that match the query.', schema: modelList },
  },
  'GET /api/v1/rerank/models': {
    tag: 'Models',
    summary: 'List the models that rerank documents',
    query: otherQuery,
    response: { description: 'The models that match the query.', schema: modelList },
  },
  'GET /api/v1/models/count': {
    tag: 'Models',
    summary: 'Count the models',
    query: filters,
    response: { description: 'The number of models that match the query.', schema: modelCount },
  },
  'GET /api/v1/model/*': {
    tag: 'Models',
    summary: 'Find a model',
    response: { description: 'The model.', schema: inData(model) },
  },
  'GET /api/v1/models/*': {
    error: openAIError,
    tag: 'Models',
    summary: 'Find a model as clients of the compatible API do',
    response: { description: 'The model, not in `data`.', schema: retrievedModels },
  },
  'GET /api/v1/models/:author/:slug/endpoints': {
    tag: 'Models',
    summary: 'List the endpoints of a model',
    response: { description: 'The model and its endpoints.', schema: modelEndpoints },
  },
  'GET /api/v1/endpoints/zdr': {
    tag: 'Models',
    summary: 'List the endpoints that retain no data',
    response: { description: 'The endpoints of all models that are known to retain no data.', schema: endpointList },
  },
  'GET /api/v1/providers': {
    tag: 'Models',
    summary: 'List the providers',
    response: { description: 'The providers with endpoints that the key may use.', schema: providerList },
  },
  'GET /api/v1/images/models': {
    tag: 'Models',
    summary: 'List the models that make images',
    response: { description: 'The models.', schema: imageModelList },
  },
  'GET /api/v1/images/models/:author/:slug/endpoints': {
    tag: 'Models',
    summary: 'List the endpoints of a model that makes images',
    response: { description: 'The endpoints.', schema: imageEndpoints },
  },
};
