import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Catalog } from '../../catalog/catalog.ts';
import { completeName } from '../../catalog/complete-name.ts';
import { parseSlug, type Slug, withoutVariant } from '../../catalog/slug.ts';
import type { Caller } from '../../domain/caller.ts';
import type { EndpointFacts, Model } from '../../domain/endpoint.ts';
import { GatewayError } from '../../domain/errors.ts';
import { isGeminiClient } from '../../http/gemini-paths.ts';
import { excludeByGuardrails } from '../../routing/guardrail.ts';
import type { Health } from '../../routing/health.ts';
import { noEndpoints } from '../../routing/refusals.ts';
import type { LatestAlias } from '../../routing/routers/router.ts';
import { cutPage, filterRows, type ModelQuery, readModelQuery, sortRows, writeNextLink } from './filters.ts';
import { canUse, describeRow, isAllowed, listRows, type ModelRow } from '../../routing/model-rows.ts';
import { isAnthropicClient, writeAnthropicList, writeAnthropicModel } from './anthropic-shape.ts';
import { readModelPath } from '../gemini/target.ts';
import { writeGeminiList, writeGeminiModel } from './gemini-shape.ts';
import { writeCodexModels } from './codex-shape.ts';
import { writeEndpoint } from './write-endpoint.ts';
import { writeArchitecture, writeListedModel, writeModel } from './write-model.ts';

/** The data that the routes of the catalog read. They are functions, because the data may change at run time. */
export interface ModelsParts {
  catalog: () => Catalog;
  /** Returns the known models behind wildcards. Never rejects. */
  discover: (catalog: Catalog, caller: Caller) => Promise<readonly Model[]>;
  health: Pick<Health, 'figures' | 'view'>;
  /** The operator's aliases and the built-in ones. */
  latest: () => readonly LatestAlias[];
  /** In the order of the configuration. */
  providers: () => readonly { readonly id: string; readonly name: string }[];
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/**
 * The catalog as a caller sees it: what the gateway can serve now to this caller.
 *
 * @see docs/reference/models.md, docs/reference/models.md#filters
 */
export function createModelsHandlers(
  parts: ModelsParts,
): Record<
  | 'listModels'
  | 'listUserModels'
  | 'listEmbeddingModels'
  | 'listRerankModels'
  | 'countModels'
  | 'findModel'
  | 'retrieveModel'
  | 'listGeminiModels'
  | 'findGeminiModel'
  | 'listEndpoints'
  | 'listZeroRetentionEndpoints'
  | 'listProviders',
  Handler
> {
  const { catalog, discover, health, latest, providers } = parts;
  const rowsFor = async (caller: Caller): Promise<ModelRow[]> => {
    const seen = catalog();
    return listRows(seen, latest(), isAllowed(caller, seen), await discover(seen, caller));
  };
  const listed = (rows: readonly ModelRow[], query: ModelQuery): ModelRow[] =>
    filterRows(
      rows.filter(({ model }) => !model.hidden),
      query,
    );
  /**
   * Returns the page of rows that matches the query, in the shape of the client.
   *
   * @param output of all rows, instead of the one in the query
   */
  const answer = (request: FastifyRequest, all: readonly ModelRow[], output?: string) => {
    const sent = request.query as Record<string, unknown>; // as Fastify parses a query string
    const given = output === undefined ? sent : { ...sent, output_modalities: output };
    if (isAnthropicClient(request.headers)) {
      const { limit: _, ...filters } = given; // its limit is another one
      return writeAnthropicList(listed(all, readModelQuery(filters)), given);
    }
    if (isGeminiClient(request.headers)) {
      return writeGeminiList(listed(all, readModelQuery({ output_modalities: 'all' })), sent);
    }
    const query = readModelQuery(given);
    const rows = sortRows(listed(all, query), query.sort, (id) => health.figures(id));
    const { page, next } = cutPage(rows, query);
    return {
      object: 'list',
      data: page.map(writeListedModel),
      total_count: rows.length,
      links: { next: writeNextLink(request.routeOptions.url ?? '/api/v1/models', sent, next) },
      ...(sent['client_version'] !== undefined && { models: writeCodexModels(page, String(sent['client_version'])) }),
    };
  };
  const find = async (slug: string, caller: Caller): Promise<ModelRow | undefined> => {
    const id = catalog().findModel(slug)?.id ?? slug.toLowerCase();
    return (await rowsFor(caller)).find(({ model }) => model.id.toLowerCase() === id);
  };

  const findGemini = async (request: FastifyRequest) =>
    writeGeminiModel(await getNamed(request, readModelPath(request.params, catalog)));

  return {
    /** `GET /models` and `GET /models/user`: the models that the caller can use. */
    listModels: async (request) => answer(request, await rowsFor(request.caller!)),
    listUserModels: async (request) => answer(request, await rowsFor(request.caller!)),

    /** `GET /embeddings/models` and `GET /rerank/models`: the rows of `GET /models` with these outputs. */
    listEmbeddingModels: async (request) => answer(request, await rowsFor(request.caller!), 'embeddings'),
    listRerankModels: async (request) => answer(request, await rowsFor(request.caller!), 'rerank'),

    /** `GET /models/count`: the number of rows of `GET /models` with the same filters. */
    async countModels(request) {
      const query = readModelQuery(request.query as Record<string, unknown>); // as Fastify parses a query string
      return { data: { count: listed(await rowsFor(request.caller!), query).length } };
    },

    /** `GET /model/{author}/{slug}`. */
    async findModel(request) {
      return { data: writeModel(await getNamed(request)) };
    },

    /** `GET /models/{author}/{slug}`, where clients of the compatible API look for a model: not in `data`. */
    async retrieveModel(request) {
      if (isGeminiClient(request.headers)) return findGemini(request);
      if (!isAnthropicClient(request.headers)) return writeListedModel(await getNamed(request));
      const { '*': named } = request.params as { '*': string }; // the route has it
      return writeAnthropicModel(await getNamed(request, completeName(named, 'anthropic', catalog())));
    },

    /** `GET /v1beta/models` and `GET /v1beta/models/{model}`, for clients of Google. */
    listGeminiModels: async (request) =>
      writeGeminiList(
        listed(await rowsFor(request.caller!), readModelQuery({ output_modalities: 'all' })),
        request.query as Record<string, unknown>, // as Fastify parses a query string
      ),
    findGeminiModel: findGemini,

    /** `GET /models/{author}/{slug}/endpoints`. */
    async listEndpoints(request) {
      const { author, slug: rest } = request.params as { author: string; slug: string }; // the route has them
      const slug = parseSlug(`${author}/${rest}`);
      const caller = request.caller!;
      const row = (await find(slug.model, caller)) ?? (await findBeyondList(slug, caller));
      const { model, aliasTarget } = row;
      const served = aliasTarget ? { ...model, id: aliasTarget.slug, name: aliasTarget.name } : model;
      return {
        data: {
          id: model.id,
          name: model.name,
          created: model.created,
          description: model.description ?? '',
          architecture: { tokenizer: null, ...writeArchitecture(row, row.isRouter ? 'Router' : undefined) },
          endpoints: row.endpoints.map((endpoint) => writeEndpoint(endpoint, served, health)),
        },
      };
    },

    /** `GET /endpoints/zdr`: those of the listed models that `provider.zdr` keeps. An alias does not list them again. */
    async listZeroRetentionEndpoints(request) {
      const listedRows = await rowsFor(request.caller!);
      const rows = listedRows.filter(({ model, aliasTarget }) => !model.hidden && !aliasTarget);
      return {
        data: rows.flatMap(({ model, endpoints }) =>
          endpoints
            .filter(({ retainsData }) => retainsData === false)
            .map((endpoint) => writeEndpoint(endpoint, model, health)),
        ),
      };
    },

    /** `GET /providers`: those with a listed endpoint that the caller may use. */
    async listProviders(request) {
      const used = new Set<string>();
      for (const endpoint of catalog().endpoints) {
        if (!endpoint.isUnlisted && canUse(endpoint, request.caller!)) used.add(endpoint.provider.id);
      }
      return {
        data: providers()
          .filter(({ id }) => used.has(id))
          .map(({ id, name }) => ({ name, slug: id, ...unknownOfProvider })),
      };
    },
  };

  /** Returns the model that the rest of the path names. @throws {GatewayError} `not_found` */
  async function getNamed(
    request: FastifyRequest,
    named = (request.params as { '*': string })['*'], // the route has it
  ): Promise<ModelRow> {
    const slug = parseSlug(named);
    const row = await find(slug.model, request.caller!);
    if (!row) throw await notFound(slug, request.caller!);
    return row;
  }

  /**
   * Returns the endpoints of a slug that is not in the list. An unknown variant of a model has none, and never those of
   * the model. Any other slug may match a wildcard.
   */
  async function findBeyondList(slug: Slug, caller: Caller): Promise<ModelRow> {
    const base = slug.variant === undefined ? undefined : await find(withoutVariant(slug), caller);
    if (base) return { ...base, model: { ...base.model, id: slug.model }, endpoints: [] };
    const endpoints = findUsable(slug, caller);
    if (endpoints.length === 0) throw await notFound(slug, caller);
    return describeRow(catalog().findKnown(slug.model)?.model ?? nameless(slug.model, endpoints[0]!), endpoints);
  }

  function findUsable({ model }: Slug, caller: Caller): EndpointFacts[] {
    return catalog().find(model).filter(isAllowed(caller, catalog()));
  }

  /**
   * Returns a 404 with the reason: an unknown variant, a slug that only a wildcard matches, a guardrail, an unknown
   * provider or name.
   */
  async function notFound(slug: Slug, caller: Caller): Promise<GatewayError> {
    const base = withoutVariant(slug);
    if (slug.variant !== undefined && (await find(base, caller))) return noEndpoints(slug.model, slug.variant);
    const shown = slug.model.slice(0, 200);
    const [usable] = findUsable(slug, caller);
    if (usable) {
      const why = `${usable.provider.name} passes on every name of its shape, so it may respond anyway`;
      return new GatewayError('model_unavailable', `${shown} is not in the catalog; ${why}.`);
    }
    const forbidden = catalog()
      .find(slug.model)
      .find((endpoint) => canUse(endpoint, caller));
    const exclusion = forbidden && excludeByGuardrails(forbidden, caller.guardrails, catalog());
    if (exclusion)
      return new GatewayError('model_unavailable', `${shown} at ${forbidden.provider.name} ${exclusion.reason}.`);
    const known = catalog().findKnown(base);
    if (known) return noEndpoints(slug.model, undefined, known.providers);
    return new GatewayError(
      'model_unavailable',
      `There is no model ${shown} here; GET /api/v1/models lists the models.`,
    );
  }
}

/** Fields of the interface that the configuration does not have. */
const unknownOfProvider = {
  privacy_policy_url: null,
  terms_of_service_url: null,
  status_page_url: null,
  headquarters: null,
  datacenters: null,
};

/** Creates a model that is known by its slug only. */
const nameless = (id: string, { contextLength, maxOutputTokens }: EndpointFacts): Model => ({
  id,
  canonicalSlug: id,
  name: id,
  created: 0,
  contextLength,
  maxOutputTokens,
  input: ['text'],
  output: ['text'],
  parameters: [],
});
