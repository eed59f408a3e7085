import type { EndpointFacts } from '../../domain/endpoint.ts';
import type { InputItem } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { blendedPrice } from '../../metering/price.ts';
import { supports } from '../needs.ts';
import { noCandidates } from '../refusals.ts';
import type { Router, RouterInput } from './router.ts';

/** Maximum models in the instructions. */
const MAX_MODELS = 400;

/**
 * `router/bodybuilder`: a model writes request bodies instead of a response.
 *
 * @see docs/reference/routers.md#bodybuilder
 */
export const bodybuilderRouter: Router = {
  strategy: 'bodybuilder',
  takes: (slug) => slug === 'router/bodybuilder',
  plan(ask) {
    const named = ask.settings.bodybuilder.model;
    const model = named ?? findCheapest(ask);
    if (named !== undefined && !ask.isRoutable(named)) {
      throw noCandidates(
        'router/bodybuilder',
        `routers.bodybuilder.model of this gateway is ${named}, and no endpoint of it can serve this request.`,
      );
    }
    if (model === undefined) {
      throw noCandidates(
        'router/bodybuilder',
        'No model of this gateway can write request bodies; set routers.bodybuilder.model.',
      );
    }
    const slugs = ask.routingContext.catalog.choices.map(({ id }) => id).filter(ask.isPermitted);
    return {
      models: [model],
      stage: { type: 'router', name: 'bodybuilder', data: { resolved_to: model, models: slugs.length } },
      rewrite: (request) => requestBodies(request, slugs.slice(0, MAX_MODELS)),
      isFree: true,
    };
  },
};

/** Returns the cheapest model that supports JSON schemas. */
function findCheapest({ routingContext, allowed, isRoutable }: RouterInput): string | undefined {
  const priceOf = (endpoints: readonly EndpointFacts[]) =>
    Math.min(...endpoints.map(({ pricing }) => blendedPrice(pricing) ?? Number.MAX_VALUE));
  return routingContext.catalog.choices
    .filter(({ id, output }) => output.includes('text') && isRoutable(id))
    .map(({ id }) => ({ id, endpoints: allowed(id) }))
    .filter(({ endpoints }) => endpoints.some((endpoint) => supports(endpoint, 'structured_outputs') !== false))
    .toSorted((a, b) => priceOf(a.endpoints) - priceOf(b.endpoints))
    .at(0)?.id;
}

const schema = {
  type: 'object',
  properties: {
    requests: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          model: { type: 'string' },
          messages: {
            type: 'array',
            items: {
              type: 'object',
              properties: {
                role: { type: 'string', enum: ['system', 'user', 'assistant'] },
                content: { type: 'string' },
              },
              required: ['role', 'content'],
              additionalProperties: false,
            },
          },
        },
        required: ['model', 'messages'],
        additionalProperties: false,
      },
    },
  },
  required: ['requests'],
  additionalProperties: false,
};

/** Puts our instructions before the caller's input. System messages go into the bodies. */
function requestBodies(request: ResponseRequest, slugs: readonly string[]): ResponseRequest {
  const isSystem = (item: InputItem) => 'role' in item && (item.role === 'system' || item.role === 'developer');
  const systems = request.input.filter(isSystem).map((item) => JSON.stringify(item));
  const kept = [request.instructions, ...systems].filter(Boolean);
  const instructions = [
    'The user describes a task and one or more models in plain words. Do not do the task.',
    'Answer with JSON: {"requests": [{"model", "messages"}]}, one request for each model that is meant, with the fewest fields.',
    'Use only slugs of the list below. Unless a version is named, take the newest one of the family.',
    ...(kept.length > 0 ? [`Put these system messages into every request, word for word:\n${kept.join('\n')}`] : []),
    `Models:\n${slugs.join('\n')}`,
  ].join('\n\n');
  return {
    ...request,
    instructions,
    input: request.input.filter((item) => !isSystem(item)),
    text: { ...request.text, format: { type: 'json_schema', name: 'requests', schema, strict: true } },
  };
}
