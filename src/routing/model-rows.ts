import type { Catalog } from '../catalog/catalog.ts';
import type { Caller } from '../domain/caller.ts';
import type { EndpointFacts, Model } from '../domain/endpoint.ts';
import { blendedPrice, isFree } from '../metering/price.ts';
import { listFamily } from './routers/latest.ts';
import type { LatestAlias } from './routers/router.ts';

/** One line of the list of models: a model, a router or an alias, and what the caller may use of it. */
export interface ModelRow {
  /** `id` is what callers send, also of a router or an alias. */
  readonly model: Model;
  /** A router chooses among others: it has no endpoints and no price. */
  readonly isRouter: boolean;
  readonly aliasTarget: { readonly name: string; readonly slug: string } | undefined;
  /** In the order of the configuration; of an alias those of its target. */
  readonly endpoints: readonly EndpointFacts[];
  /** The cheapest endpoint; undefined for a router. */
  readonly top: EndpointFacts | undefined;
  /** The most tokens that fit into any of the endpoints; undefined when nobody said. */
  readonly contextLength: number | undefined;
  /** What any of the endpoints takes and makes. */
  readonly parameters: readonly string[];
  readonly input: readonly string[];
  readonly output: readonly string[];
}

/** Slugs that stand for others. `isFree`: it chooses among free models alone. @see routers.md */
const routerModels: readonly { id: string; name: string; description: string; isFree?: true }[] = [
  { id: 'router/auto', name: 'Auto Router', description: 'Chooses a model by what the conversation is about.' },
  { id: 'router/auto-beta', name: 'Auto Router (beta)', description: 'The next version of the auto router.' },
  {
    id: 'router/pareto-code',
    name: 'Pareto Code Router',
    description: 'Chooses the cheapest coding model that scores high enough.',
  },
  {
    id: 'router/free',
    name: 'Free Models Router',
    description: 'Chooses among the models that cost nothing.',
    isFree: true,
  },
  {
    id: 'router/bodybuilder',
    name: 'Body Builder',
    description: 'Writes request bodies from a description, and runs none of them.',
  },
];

const routerIds = new Set(routerModels.map(({ id }) => id));

/** An endpoint with a workspace is that workspace's own. A management key belongs to none and sees what all share. */
export const canUse = (
  { workspace }: EndpointFacts,
  { kind, workspaceId }: Pick<Caller, 'workspaceId'> & Partial<Pick<Caller, 'kind'>>,
): boolean => workspace === undefined || (kind !== 'management' && workspace === workspaceId);

/**
 * All that may be named: models, hidden ones included, then routers, then the aliases that have a target. A model that
 * only a wildcard carries is not among them: nobody knows its name before somebody asks for it.
 *
 * @param isUsable may the caller use this endpoint?
 */
export function listRows(
  catalog: Catalog,
  latest: readonly LatestAlias[],
  isUsable: (endpoint: EndpointFacts) => boolean,
): ModelRow[] {
  const exact = new Set<EndpointFacts>(catalog.endpoints);
  const choices = new Set(catalog.choices);
  const byId = new Map<string, ModelRow>();
  for (const model of catalog.models) {
    if (routerIds.has(model.id)) continue; // asked for, it would be the router
    const endpoints = catalog.find(model.id).filter(isUsable);
    if (endpoints.some((endpoint) => exact.has(endpoint))) byId.set(model.id, describeRow(model, endpoints));
  }
  const models = [...byId.values()];
  const aliases = latest.flatMap((alias) => {
    const target = byId.get(listFamily(alias, { catalog }).find((id) => byId.has(id)) ?? '');
    return target ? [aliasOf(alias.alias, target)] : [];
  });
  return [...models, ...listRouters(models.filter(({ model }) => choices.has(model))), ...aliases];
}

/** A model and those of its endpoints that the caller may use. */
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

/** Names of `supported_parameters` that the endpoint is known to take; undefined when nobody said. */
export function listParameters({ parameters, capabilities }: EndpointFacts): string[] | undefined {
  const { tools, structuredOutputs, reasoning } = capabilities;
  if (!parameters && tools === undefined && structuredOutputs === undefined && reasoning === undefined)
    return undefined;
  const names = new Set(parameters);
  const say = (said: boolean | undefined, of: readonly string[]): void => {
    if (said === true) for (const name of of) names.add(name);
    if (said === false) for (const name of of) names.delete(name);
  };
  say(tools, ['tools', 'tool_choice']);
  say(structuredOutputs, ['structured_outputs', 'response_format']);
  say(reasoning, ['reasoning', 'include_reasoning']);
  return [...names];
}

/**
 * The endpoint with the least price, three of input to one of output; one whose price is known before those whose is
 * not. Tiers that take part only when they are asked for count when there is no other.
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

/** A router takes what any model takes that it may choose. */
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
      ...{ model, isRouter: true, aliasTarget: undefined, endpoints: [], top: undefined },
      ...{ contextLength, parameters, input, output },
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
