import type { EndpointFacts } from '../domain/endpoint.ts';
import type { Guardrail, GuardrailRules, ModelGroup } from '../domain/guardrail.ts';
import { isFree } from '../metering/price.ts';
import type { Exclusion } from './exclusion.ts';
import { Patterns } from './patterns.ts';
import type { RoutingCatalog } from './catalog-view.ts';

type Models = Pick<RoutingCatalog<EndpointFacts>, 'findModel'>;
type Rule = (endpoint: EndpointFacts, models: Models) => Exclusion | undefined;

/**
 * Compiles a guardrail. The result for an endpoint is cached as long as the endpoint exists.
 *
 * @param title for reasons, which callers see: `guardrail Interns`
 * @returns undefined if it forbids nothing
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

/** Returns the reason of the first guardrail that forbids an endpoint. */
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

/** The known models and providers. */
export interface KnownNames extends Pick<RoutingCatalog<EndpointFacts>, 'find' | 'models'> {
  /** Wildcards included. */
  readonly endpoints: readonly EndpointFacts[];
}

/** Whether an entry of a guardrail's providers matches any endpoint. */
export const namesProvider = (entry: string, endpoints: readonly EndpointFacts[]): boolean =>
  endpoints.some((endpoint) => isOf(entry.toLowerCase(), endpoint));

/** Whether an entry of a guardrail's models matches any model, or could match one behind a wildcard endpoint. */
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

/** Lists the rules about models. They apply to every endpoint of a model. */
function listModelRules(title: string, { allowedModels, ignoredModels }: GuardrailRules): Rule[] {
  const allowed = allowedModels && new Patterns(allowedModels);
  const ignored = ignoredModels && new Patterns(ignoredModels);
  if (!allowed && !ignored) return [];
  return [
    (endpoint, models) => {
      const described = describe(endpoint, models);
      if (allowed && !allowed.matches(described)) {
        return { code: 'allowed_models', reason: `has a model that the ${title} does not allow` };
      }
      if (ignored?.matches(described)) {
        return { code: 'allowed_models', reason: `has a model that the ${title} forbids` };
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
 * Whether an entry of a guardrail names this endpoint. Unlike in `provider.only`, a bare provider includes its tiers,
 * because a forbidden provider is forbidden in every tier. choice 160
 */
function isOf(entry: string, { tag, provider }: EndpointFacts): boolean {
  const lower = tag.toLowerCase();
  const slash = lower.indexOf('/');
  const id = provider.id.toLowerCase();
  if (entry === lower || entry === id || entry === provider.name.toLowerCase()) return true;
  return slash !== -1 && (entry === lower.slice(0, slash) || entry === id + lower.slice(slash));
}

/**
 * Lists the rules about data. An unknown data policy counts as a violation.
 *
 * @see docs/reference/routing.md#provider-preferences
 */
function listDataRules(title: string, rules: GuardrailRules): Rule[] {
  const { zeroRetention, paidTraining, freeTraining, freePublication } = rules;
  const checks: Rule[] = [];
  if (Object.values(zeroRetention).includes(true)) {
    checks.push((endpoint, models) => {
      if (endpoint.retainsData === false || zeroRetention[groupOf(endpoint, models)] !== true) return undefined;
      const reason = `may retain its inputs, which the ${title} forbids`;
      return { code: 'data_policy:zdr', reason };
    });
  }
  if (paidTraining === false || freeTraining === false) {
    checks.push((endpoint) => {
      const { trainsOnData, pricing } = endpoint;
      const mayBeFree = pricing === undefined || isFree(pricing);
      const isForbidden = (freeTraining === false && mayBeFree) || (paidTraining === false && !isFree(pricing));
      if (trainsOnData === false || !isForbidden) return undefined;
      const reason = `may train on its inputs, which the ${title} forbids`;
      return { code: 'data_policy:training', reason };
    });
  }
  if (freePublication === false) {
    checks.push(({ retainsData, pricing }) => {
      const isSafe = retainsData === false; // data that is not retained is not published
      if (isSafe || (pricing !== undefined && !isFree(pricing))) return undefined;
      return {
        code: 'data_policy:publication',
        reason: `may publish its inputs, which the ${title} forbids`,
      };
    });
  }
  return checks;
}

/** A map, because callers name authors behind a wildcard, such as `constructor`. */
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

/** Returns the group of the model's author, or of the provider if the slug has no author. */
function groupOf(endpoint: EndpointFacts, models: Models): ModelGroup {
  const { canonicalSlug } = describe(endpoint, models);
  const named = [endpoint.model, canonicalSlug].find((slug) => slug.includes('/')) ?? endpoint.tag;
  return groupByName.get(named.split('/', 1)[0]!.toLowerCase()) ?? 'other';
}
