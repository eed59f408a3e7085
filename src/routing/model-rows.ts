import type { Catalog } from '../catalog/catalog.ts';
import type { Caller } from '../domain/caller.ts';
import type { EndpointFacts, Model } from '../domain/endpoint.ts';
import { blendedPrice, isFree } from '../metering/price.ts';
import { excludeByGuardrails } from './guardrail.ts';
import { listFamily } from './routers/latest.ts';
import type { LatestAlias } from './routers/router.ts';

/** A row of the list of models: a model, a router or an alias, with the endpoints that the caller may use. */
export interface ModelRow {
  /** `id` is the slug that callers send, including routers and aliases. */
  readonly model: Model;
  /** Whether it is a router, which has no endpoints and no price. */
  readonly isRouter: boolean;
  readonly aliasTarget: { readonly name: string; readonly slug: string } | undefined;
  /** In the order of the configuration. An alias has those of its target. */
  readonly endpoints: readonly EndpointFacts[];
  /** The cheapest endpoint. Undefined for a router. */
  readonly top: EndpointFacts | undefined;
  /** The largest context of its endpoints. Undefined if unknown. */
  readonly contextLength: number | undefined;
  /** The union over its endpoints. */
  readonly parameters: readonly string[];
  readonly input: readonly string[];
  readonly output: readonly string[];
}

/** The routers. `isFree`: it chooses only free models. @see docs/reference/routers.md */
const routerModels: readonly { id: string; name: string; description: string; isFree?: true }[] = [
  { id: 'router/auto', name: 'Auto Router', description: 'Chooses a model by the task of the conversation.' },
  { id: 'router/auto-beta', name: 'Auto Router (beta)', description: 'The next version of the auto router.' },
  {
    id: 'router/pareto-code',
    name: 'Pareto Code Router',
    description: 'Chooses the cheapest coding model with a sufficient score.',
  },
  {
    id: 'router/free',
    name: 'Free Models Router',
    description: 'Chooses a free model.',
    isFree: true,
  },
  {
    id: 'router/bodybuilder',
    name: 'Body Builder',
    description: 'Writes request bodies from a description. Does not send them.',
  },
  {
    id: 'router/fusion',
    name: 'Fusion',
    description: 'Consults a panel of models, compares their responses, and writes the final one.',
  },
  {
    id: 'router/fusion-flash',
    name: 'Fusion Flash',
    description: 'Fusion with a panel of fast models.',
  },
];

const routerIds = new Set(routerModels.map(({ id }) => id));

/**
 * Whether the caller may use an endpoint. A BYOK endpoint is for its workspace only. A management key sees shared
 * ones.
 */
export const canUse = (
  { workspace }: EndpointFacts,
  { kind, workspaceId }: Pick<Caller, 'workspaceId'> & Partial<Pick<Caller, 'kind'>>,
): boolean => workspace === undefined || (kind !== 'management' && workspace === workspaceId);

/** Returns whether the caller may use an endpoint, and its guardrails allow it. */
export const isAllowed =
  (caller: Caller, catalog: Pick<Catalog, 'findModel'>) =>
  (endpoint: EndpointFacts): boolean =>
    canUse(endpoint, caller) && !excludeByGuardrails(endpoint, caller.guardrails, catalog);

/**
 * Lists models, including hidden ones, then routers, then aliases with a target.
 *
 * @param isUsable whether the caller may use an endpoint
 * @param offered the known models behind wildcards
 */
export function listRows(
  catalog: Catalog,
  latest: readonly LatestAlias[],
  isUsable: (endpoint: EndpointFacts) => boolean,
  offered: readonly Model[] = [],
): ModelRow[] {
  const exact = new Set<EndpointFacts>(catalog.endpoints);
  const choices = new Set(catalog.choices);
  const byId = new Map<string, ModelRow>();
  for (const model of catalog.models) {
    if (routerIds.has(model.id)) continue; // the slug means the router
    const endpoints = catalog.find(model.id).filter(isUsable);
    if (endpoints.some((endpoint) => exact.has(endpoint))) byId.set(model.id, describeRow(model, endpoints));
  }
  for (const model of offered) {
    const endpoints = catalog.find(model.id).filter(isUsable);
    if (endpoints.length > 0 && !byId.has(model.id)) byId.set(model.id, describeRow(model, endpoints));
  }
  const models = [...byId.values()];
  const aliases = latest.flatMap((alias) => {
    const target = byId.get(listFamily(alias, { catalog }).find((id) => byId.has(id)) ?? '');
    return target ? [aliasOf(alias.alias, target)] : [];
  });
  return [...models, ...listRouters(models.filter(({ model }) => choices.has(model))), ...aliases];
}

/** Creates the row of a model with the endpoints that the caller may use. */
export function describeRow(model: Model, endpoints: readonly EndpointFacts[]): ModelRow {
  const contexts = endpoints.flatMap(({ contextLength = model.contextLength }) => contextLength ?? []);
  return {
    model,
    isRouter: false,
    aliasTarget: undefined,
    endpoints,
    top: findCheapest(endpoints),
    contextLength: contexts.length === 0 ? model.contextLength : Math.max(...contexts),
    parameters: unite(endpoints, (endpoint) => listParameters(endpoint) ?? model.parameters),
    input: unite(endpoints, ({ capabilities }) => capabilities.input ?? model.input),
    output: unite(endpoints, ({ capabilities }) => capabilities.output ?? model.output),
  };
}

/** Returns the `supported_parameters` of an endpoint. Undefined if unknown. */
export function listParameters({ parameters, capabilities }: EndpointFacts): string[] | undefined {
  const { tools, structuredOutputs, reasoning } = capabilities;
  if (!parameters && tools === undefined && structuredOutputs === undefined && reasoning === undefined)
    return undefined;
  const names = new Set(parameters);
  const apply = (isSupported: boolean | undefined, of: readonly string[]): void => {
    if (isSupported === true) for (const name of of) names.add(name);
    if (isSupported === false) for (const name of of) names.delete(name);
  };
  apply(tools, ['tools', 'tool_choice']);
  apply(structuredOutputs, ['structured_outputs', 'response_format']);
  apply(reasoning, ['reasoning', 'include_reasoning']);
  return [...names];
}

/**
 * Returns the endpoint with the lowest price (three parts input to one part output). Unknown prices come last. `flex`
 * and `priority` endpoints count only if there are no others.
 */
export function findCheapest<E extends Pick<EndpointFacts, 'pricing' | 'tier'>>(
  endpoints: readonly E[],
): E | undefined {
  const usual = endpoints.filter(({ tier }) => tier !== 'flex' && tier !== 'priority');
  const price = ({ pricing }: E): number => blendedPrice(pricing) ?? Number.POSITIVE_INFINITY;
  let cheapest: E | undefined;
  for (const endpoint of usual.length > 0 ? usual : endpoints) {
    if (!cheapest || price(endpoint) < price(cheapest)) cheapest = endpoint;
  }
  return cheapest;
}

/** Lists the routers. A router supports the union of its candidates. */
function listRouters(models: readonly ModelRow[]): ModelRow[] {
  const free = models.filter(({ endpoints }) => endpoints.some(({ pricing }) => isFree(pricing)));
  return routerModels.map(({ id, name, description, isFree: onlyFree }) => {
    const choices = (onlyFree ? free : models).filter(({ output }) => output.includes('text'));
    const contexts = choices.flatMap(({ contextLength }) => contextLength ?? []);
    const contextLength = contexts.length === 0 ? undefined : Math.max(...contexts);
    const parameters = unite(choices, (row) => row.parameters);
    const input = choices.length === 0 ? ['text'] : unite(choices, (row) => row.input);
    const output = ['text'];
    const more = { created: 0, maxOutputTokens: undefined, contextLength, parameters, input, output };
    const model: Model = { id, canonicalSlug: id, name, description, ...more };
    return {
      model,
      isRouter: true,
      aliasTarget: undefined,
      endpoints: [],
      top: undefined,
      contextLength,
      parameters,
      input,
      output,
    };
  });
}

function aliasOf(alias: string, target: ModelRow): ModelRow {
  const { id: slug, name } = target.model;
  return {
    ...target,
    model: { ...target.model, id: alias, canonicalSlug: alias, name: `${name} (latest)` },
    aliasTarget: { name, slug },
  };
}

const unite = <Item>(items: readonly Item[], read: (item: Item) => readonly string[]): string[] => [
  ...new Set(items.flatMap(read)),
];
