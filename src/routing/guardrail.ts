import type { EndpointFacts } from '../domain/endpoint.ts';
import type { Guardrail, GuardrailRules, ModelGroup } from '../domain/guardrail.ts';
import { isFree } from '../metering/price.ts';
import type { Exclusion } from './filters.ts';
import { Patterns } from './patterns.ts';
import type { RoutingCatalog } from './plan-route.ts';

type Models = Pick<RoutingCatalog<EndpointFacts>, 'findModel'>;
type Rule = (endpoint: EndpointFacts, models: Models) => Exclusion | undefined;

/**
 * Makes a guardrail ready. What it says of an endpoint is found out once and remembered as long as the endpoint is there.
 *
 * @param title in the words of reasons, which callers read: `guardrail Interns`
 * @returns undefined when it forbids nothing
 * @see docs/guides/guardrails.md#rules
 */
export function compileGuardrail(title: string, rules: GuardrailRules): Guardrail | undefined {
  const checks = [...listModelRules(title, rules), ...listProviderRules(title, rules), ...listDataRules(title, rules)];
  if (checks.length === 0) return undefined;
  const known = new WeakMap<EndpointFacts, Exclusion | null>();
  return {
    exclude(endpoint, models) {
      let found = known.get(endpoint);
      if (found === undefined) {
        found = null;
        for (const check of checks) {
          found = check(endpoint, models) ?? null;
          if (found) break;
        }
        known.set(endpoint, found);
      }
      return found ?? undefined;
    },
  };
}

/** The first of a caller's guardrails that forbids an endpoint says why. */
export function excludeByGuardrails(
  endpoint: EndpointFacts,
  guardrails: readonly Guardrail[] | undefined,
  models: Models,
): Exclusion | undefined {
  if (!guardrails) return undefined;
  for (const guardrail of guardrails) {
    const found = guardrail.exclude(endpoint, models);
    if (found) return found;
  }
  return undefined;
}

/** Which models and providers there are. */
export interface KnownNames extends Pick<RoutingCatalog<EndpointFacts>, 'find' | 'models'> {
  /** Wildcards included. */
  readonly endpoints: readonly EndpointFacts[];
}

/** Does an entry of a guardrail's providers mean any endpoint? */
export const namesProvider = (entry: string, endpoints: readonly EndpointFacts[]): boolean =>
  endpoints.some((endpoint) => isOf(entry.toLowerCase(), endpoint));

/** Does an entry of a guardrail's models mean any model? Of an endpoint with a wildcard it may, where the two can meet. */
export function namesModel(entry: string, catalog: KnownNames): boolean {
  const pattern = new Patterns([entry]);
  if (catalog.find(entry).length > 0 || catalog.models.some((model) => pattern.matches(model))) return true;
  if (!entry.includes('*')) return false;
  const start = entry.toLowerCase().split('*', 1)[0]!;
  return catalog.endpoints.some(({ model }) => {
    const before = model.includes('*') ? model.toLowerCase().split('*', 1)[0]! : undefined;
    return before !== undefined && (before.startsWith(start) || start.startsWith(before));
  });
}

/** What a guardrail says of a model, every endpoint of it shares. */
function listModelRules(title: string, { allowedModels, ignoredModels }: GuardrailRules): Rule[] {
  const allowed = allowedModels && new Patterns(allowedModels);
  const ignored = ignoredModels && new Patterns(ignoredModels);
  if (!allowed && !ignored) return [];
  return [
    (endpoint, models) => {
      const described = describe(endpoint, models);
      if (allowed && !allowed.matches(described)) {
        return { code: 'allowed_models', reason: `carries a model that the ${title} does not allow` };
      }
      if (ignored?.matches(described)) {
        return { code: 'allowed_models', reason: `carries a model that the ${title} forbids` };
      }
      return undefined;
    },
  ];
}

function describe({ model }: EndpointFacts, models: Models): { id: string; canonicalSlug: string } {
  return { id: model, canonicalSlug: models.findModel(model)?.canonicalSlug ?? model };
}

function listProviderRules(title: string, { allowedProviders, ignoredProviders }: GuardrailRules): Rule[] {
  const rules: Rule[] = [];
  if (allowedProviders) {
    const allowed = allowedProviders.map((entry) => entry.toLowerCase());
    rules.push((endpoint) => {
      if (allowed.some((entry) => isOf(entry, endpoint))) return undefined;
      return { code: 'allowed_providers', reason: `is not allowed by the ${title}` };
    });
  }
  if (ignoredProviders) {
    const ignored = ignoredProviders.map((entry) => entry.toLowerCase());
    rules.push((endpoint) => {
      if (!ignored.some((entry) => isOf(entry, endpoint))) return undefined;
      return { code: 'allowed_providers', reason: `is forbidden by the ${title}` };
    });
  }
  return rules;
}

/**
 * Does an entry of a guardrail name this endpoint? Unlike in `provider.only`, a bare provider means its tiers as well:
 * who may not be asked may not be asked faster either. choice 160
 */
function isOf(entry: string, { tag, provider }: EndpointFacts): boolean {
  const lower = tag.toLowerCase();
  const slash = lower.indexOf('/');
  const id = provider.id.toLowerCase();
  if (entry === lower || entry === id || entry === provider.name.toLowerCase()) return true;
  return slash !== -1 && (entry === lower.slice(0, slash) || entry === id + lower.slice(slash));
}

/** Of whom nobody knows what they do with data, the worst is assumed. @see docs/reference/routing.md#provider-preferences */
function listDataRules(title: string, rules: GuardrailRules): Rule[] {
  const { zeroRetention, paidTraining, freeTraining, freePublication } = rules;
  const checks: Rule[] = [];
  if (Object.values(zeroRetention).includes(true)) {
    checks.push((endpoint, models) => {
      if (endpoint.retainsData === false || zeroRetention[groupOf(endpoint, models)] !== true) return undefined;
      const reason = `is not known to keep nothing, as the ${title} demands`;
      return { code: 'data_policy:zdr', reason };
    });
  }
  if (paidTraining === false || freeTraining === false) {
    checks.push((endpoint) => {
      const { trainsOnData, pricing } = endpoint;
      const mayBeFree = pricing === undefined || isFree(pricing);
      const isForbidden = (freeTraining === false && mayBeFree) || (paidTraining === false && !isFree(pricing));
      if (trainsOnData === false || !isForbidden) return undefined;
      const reason = `is not known to learn from nothing that it is sent, as the ${title} demands`;
      return { code: 'data_policy:training', reason };
    });
  }
  if (freePublication === false) {
    checks.push(({ retainsData, pricing }) => {
      const isSafe = retainsData === false; // what is not kept is not published
      if (isSafe || (pricing !== undefined && !isFree(pricing))) return undefined;
      return {
        code: 'data_policy:publication',
        reason: `may publish what it is sent, which the ${title} forbids`,
      };
    });
  }
  return checks;
}

/** A map, since callers name authors behind a wildcard: `constructor` is none. */
const groupByName: ReadonlyMap<string, ModelGroup> = new Map([
  ['anthropic', 'anthropic'],
  ['openai', 'openai'],
  ['google', 'google'],
  ['google-vertex', 'google'],
  ['google-ai-studio', 'google'],
  ['gemini', 'google'],
  ['xai', 'xai'],
  ['x-ai', 'xai'],
]);

/** By the author of the model; of a slug without one, by the provider. */
function groupOf(endpoint: EndpointFacts, models: Models): ModelGroup {
  const { canonicalSlug } = describe(endpoint, models);
  const named = [endpoint.model, canonicalSlug].find((slug) => slug.includes('/')) ?? endpoint.tag;
  return groupByName.get(named.split('/', 1)[0]!.toLowerCase()) ?? 'other';
}
