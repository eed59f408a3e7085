import { MAX_USD_PER_PIECE, MAX_USD_PER_TOKEN } from '../domain/endpoint.ts';
import { rateLimitNames } from '../domain/rate-limits.ts';
import { readEntry } from '../platform/outbound/rules.ts';
import type { Problem } from './interpolate.ts';
import { formatPath, type Path } from './path.ts';
import type { BootstrapConfig, Config, ModelConfig, ProviderConfig } from './schema.ts';

/** A problem between several values. */
export interface RelationProblem extends Problem {
  /** What else it was found by: where that is wrong itself, this may be none. */
  leansOn?: readonly Path[];
}

/** What the schema cannot say: names that must be known, or different, and rules between two keys. */
export function checkRelations(config: Config): RelationProblem[] {
  return [
    ...checkProviders(config.providers),
    ...checkBootstrap(config.bootstrap),
    ...checkStorage(config.storage.url),
    ...checkRouters(config.routers),
    ...checkBudgets(config.budgets),
    ...checkHosts(config.outbound),
    ...checkContents(config.io_logging),
  ];
}

/** A limit that a narrower one cannot reach says nothing. @see docs/reference/management.md#budgets */
function checkBudgets(budgets: Config['budgets']): RelationProblem[] {
  return Object.entries(budgets).flatMap(([whose, own]) => {
    const windows = (['lifetime', 'monthly', 'weekly', 'daily'] as const).filter((window) => own[window] !== undefined);
    return windows.slice(1).flatMap((window, at) => {
      const broader = windows[at]!;
      if (own[window]! < own[broader]!) return [];
      const message = `must be below ${broader}, which is ${own[broader]}`;
      return [{ path: ['budgets', whose, window], message, leansOn: [['budgets', whose, broader]] }];
    });
  });
}

/** A content that is as long as it may be must have room to wait. */
function checkContents({ max_bytes, max_pending_bytes }: Config['io_logging']): RelationProblem[] {
  if (max_pending_bytes >= max_bytes) return [];
  const message = `must not be below max_bytes, which is ${max_bytes}`;
  return [{ path: ['io_logging', 'max_pending_bytes'], message, leansOn: [['io_logging', 'max_bytes']] }];
}

/** A model that a router asks must not be the router. */
function checkRouters({ auto, bodybuilder }: Config['routers']): Problem[] {
  const named: [Path, string | undefined][] = [
    [['routers', 'auto', 'classifier', 'model'], auto.classifier?.model],
    [['routers', 'bodybuilder', 'model'], bodybuilder.model],
  ];
  return named.flatMap(([path, model]) =>
    model !== undefined && /^(?:router\/|~)/i.test(model)
      ? [{ path, message: `is ${model}, which chooses a model itself; name a model` }]
      : [],
  );
}

function checkHosts(outbound: Config['outbound']): Problem[] {
  return (['allow', 'deny'] as const).flatMap((key) =>
    outbound[key].flatMap((entry, index) => {
      try {
        readEntry(entry);
        return [];
      } catch (error) {
        return [{ path: ['outbound', key, index], message: (error as Error).message }]; // it throws Errors
      }
    }),
  );
}

function checkStorage(url: string): Problem[] {
  const path = ['storage', 'url'];
  if (url.startsWith('file:')) {
    const hasHost = url.startsWith('file://') && !url.startsWith('file:///');
    return hasHost ? [{ path, message: 'must be file:PATH or file:///PATH' }] : [];
  }
  if (URL.canParse(url)) return [];
  return [{ path, message: 'is no valid URL; characters like @ and / in a password must be percent-encoded' }];
}

function checkProviders(providers: readonly ProviderConfig[]): RelationProblem[] {
  const problems: RelationProblem[] = findTwins(providers, (provider) => provider.id, ['providers'], 'id');
  for (const [index, provider] of providers.entries()) {
    const path = ['providers', index];
    problems.push(...checkBaseUrl(provider, [...path, 'base_url']));
    problems.push(...checkPackage(provider, path));
    problems.push(...findTwinModels(provider.models, [...path, 'models']));
    for (const [at, entry] of provider.models.entries()) {
      const { model, upstream_model: upstream = '' } = entry;
      const place = [...path, 'models', at];
      problems.push(...checkPrices(entry, place));
      if (countStars(model) > 1) problems.push({ path: [...place, 'model'], message: 'may hold one * only' });
      if (countStars(upstream) > 1)
        problems.push({ path: [...place, 'upstream_model'], message: 'may hold one * only' });
      if (upstream.includes('*') && !model.includes('*')) {
        problems.push({
          path: [...place, 'upstream_model'],
          message: 'holds a *, but model has none that it could take from',
          leansOn: [[...place, 'model']],
        });
      }
    }
  }
  return problems;
}

const piecePrices = ['request', 'image', 'web_search', 'searched_request'] as const;

/** A price beyond all measure makes costs that no ledger can hold. */
function checkPrices({ pricing, image }: ModelConfig, path: Path): RelationProblem[] {
  const problems: RelationProblem[] = [];
  const check = (price: unknown, unit: string, place: Path, leansOn: Path[] = []): void => {
    const max = unit === 'token' ? MAX_USD_PER_TOKEN : MAX_USD_PER_PIECE;
    if (price === undefined || Number(price) <= max) return;
    const hint = unit === 'token' ? '; prices are per token, not per million' : '';
    problems.push({ path: place, message: `must be ${max} USD a ${unit} or less, not ${price}${hint}`, leansOn });
  };
  const checkAll = (prices: object, place: Path): void => {
    for (const [key, price] of Object.entries(prices)) {
      if (key === 'above' || key === 'prompt_tokens') continue;
      check(price, piecePrices.find((piece) => piece === key) ? 'piece' : 'token', [...place, key]);
    }
  };
  if (pricing) checkAll(pricing, [...path, 'pricing']);
  for (const [at, prices] of (pricing?.above ?? []).entries()) checkAll(prices, [...path, 'pricing', 'above', at]);
  for (const [at, { unit, cost_usd: price }] of (image?.pricing ?? []).entries()) {
    const place = [...path, 'image', 'pricing', at];
    check(price, unit, [...place, 'cost_usd'], [[...place, 'unit']]);
  }
  return problems;
}

/** Settings that do nothing in this build and may be taken for more than they are, a sentence each. */
export function findUnusedSettings({ server }: Config): string[] {
  if (server.regional_hosts.length === 0) return [];
  return [
    'server.regional_hosts keeps interns from being reached at these hosts. This build has none: it has no effect, and no request is held to a region.',
  ];
}

/** More than ten thousand dollars a million tokens is a price per million, written where one per token belongs. */
const DEAREST_TOKEN_USD = 0.01;

/** Prices that are possible and hardly meant, a sentence each. */
export function findSuspiciousPrices(providers: readonly ProviderConfig[]): string[] {
  return providers.flatMap(({ models }, index) =>
    models.flatMap(({ pricing }, at) =>
      (['prompt', 'completion', 'cache_read', 'cache_write'] as const).flatMap((key) => {
        const price = Number(pricing?.[key] ?? 0);
        if (price <= DEAREST_TOKEN_USD) return [];
        const place = formatPath(['providers', index, 'models', at, 'pricing', key]);
        return [`${place} is ${price} USD a token, which is ${price * 1e6} USD a million; prices are per token.`];
      }),
    ),
  );
}

/** Endpoints of one model at one provider differ by their tier or tag. */
const nameOfEndpoint = ({ model, tier, tag }: ProviderConfig['models'][number]) =>
  [model, tier, tag].filter((part) => part !== undefined).join(' ');

/** A part of the name that is wrong, or has a wrong name, may be what tells two apart. */
const findTwinModels = (models: ProviderConfig['models'], path: Path): RelationProblem[] =>
  findTwins(models, nameOfEndpoint, path, 'model').map((twin) => ({ ...twin, leansOn: [path] }));

/** A package and what belongs to it go with one wire, and that wire with a package. */
function checkPackage(provider: ProviderConfig, path: Path): RelationProblem[] {
  if (provider.wire === 'ai-sdk') {
    return provider.package === undefined
      ? [{ path: [...path, 'package'], message: 'is missing: the npm package that asks, @ai-sdk/cohere, say' }]
      : [];
  }
  return (['package', 'factory', 'settings'] as const)
    .filter((key) => provider[key] !== undefined)
    .map((key) => ({
      path: [...path, key],
      message: 'belongs to the wire ai-sdk alone',
      leansOn: [[...path, 'wire']],
    }));
}

const countStars = (text: string) => text.split('*').length - 1;

function checkBaseUrl({ wire, base_url: text }: ProviderConfig, path: Path): Problem[] {
  if (text === undefined)
    return wire === 'simulator' || wire === 'ai-sdk'
      ? []
      : [{ path, message: 'is missing; only the simulator has none' }];
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return [{ path, message: 'must be an http or https URL' }];
  }
  const problems: Problem[] = [];
  if (url.username !== '' || url.password !== '') {
    problems.push({ path, message: 'must not carry credentials; they belong in api_key or headers' });
  }
  if (url.search !== '' || url.hash !== '') problems.push({ path, message: 'must have no query and no fragment' });
  return problems;
}

function checkBootstrap({ workspaces, members, keys }: BootstrapConfig): RelationProblem[] {
  const problems: RelationProblem[] = [
    ...findTwins(workspaces, (workspace) => workspace.name, ['bootstrap', 'workspaces'], 'name'),
    ...findTwins(workspaces, (workspace) => workspace.id, ['bootstrap', 'workspaces'], 'id'),
    ...findTwins(members, (member) => member.id, ['bootstrap', 'members'], 'id'),
    ...findTwins(keys, (key) => key.key, ['bootstrap', 'keys'], 'key'),
  ];
  const known = new Set(workspaces.flatMap(({ id, name }) => (id === undefined ? [name] : [id, name])));
  const memberIds = new Set(members.map((member) => member.id));
  /** A list that is empty may stand under a wrong name. */
  const leanOn = (list: 'workspaces' | 'members', { length }: readonly unknown[]): Path[] =>
    length === 0 ? [['bootstrap']] : [['bootstrap', list]];
  const checkWorkspace = (name: string, path: Path) => {
    if (known.has(name)) return;
    const leansOn = leanOn('workspaces', workspaces);
    problems.push({ path, message: 'names no workspace of bootstrap.workspaces', leansOn });
  };

  for (const [index, member] of members.entries()) {
    for (const [at, name] of member.workspaces.entries()) {
      checkWorkspace(name, ['bootstrap', 'members', index, 'workspaces', at]);
    }
  }
  for (const [index, key] of keys.entries()) {
    const path = ['bootstrap', 'keys', index];
    if (key.workspace !== undefined) checkWorkspace(key.workspace, [...path, 'workspace']);
    if (key.kind === 'management') {
      for (const field of ['member', 'acts_as', 'credit_usd', ...rateLimitNames] as const) {
        if (key[field] !== undefined)
          problems.push({ path: [...path, field], message: 'does not go with kind: management' });
      }
      continue;
    }
    if (key.workspace === undefined) problems.push({ path: [...path, 'workspace'], message: 'is missing' });
    if (key.member !== undefined && !memberIds.has(key.member)) {
      const leansOn = leanOn('members', members);
      problems.push({ path: [...path, 'member'], message: 'names no member of bootstrap.members', leansOn });
    }
    if ((key.member === undefined) === (key.acts_as === undefined)) {
      problems.push({ path, message: 'needs either member, or acts_as: organization, or kind: management' });
    }
  }
  return problems;
}

/** Items that share what must be unique. The message names the first of them, never the value: it may be a key. */
function findTwins<Item>(
  items: readonly Item[],
  read: (item: Item) => string | undefined,
  path: Path,
  field: string,
): Problem[] {
  const seen = new Map<string, number>();
  return items.flatMap((item, index) => {
    const value = read(item);
    if (value === undefined) return [];
    const first = seen.get(value);
    if (first === undefined) seen.set(value, index);
    return first === undefined ? [] : [{ path: [...path, index, field], message: `is the same as in entry ${first}` }];
  });
}
