import type { ForeignSection } from './foreign-section.ts';
import type { ImportReport } from './import-report.ts';
import { escapeText } from './key-variables.ts';
import type { Account } from './litellm-accounts.ts';
import type { Deployment } from './litellm-deployments.ts';

/** A provider of the new configuration. */
interface ProviderEntry {
  id: string;
  account: Account;
  models: Record<string, unknown>[];
}

/** Collects deployments as providers and their models. */
export class ProviderEntries {
  private readonly entries = new Map<string, ProviderEntry>();
  private readonly ids = new Set<string>();

  /** @param name that callers use @param weight 0: only a fallback */
  add({ account, upstream, facts }: Deployment, name: string, weight?: number): void {
    const entry = this.find(account);
    const isTwice = entry.models.filter(({ model }) => model === escapeText(name)).length;
    entry.models.push({
      model: escapeText(name),
      ...(upstream !== name && { upstream_model: escapeText(upstream) }),
      ...(isTwice > 0 && { tag: `${weight === 0 ? 'fallback' : 'deployment'}-${isTwice + 1}` }),
      ...(weight !== undefined && { weight }),
      ...facts,
    });
  }

  list(): Record<string, unknown>[] {
    return [...this.entries.values()].map(({ id, account: { sameAs, settings }, models }) => ({
      id,
      ...(sameAs !== undefined && sameAs !== id && { same_as: sameAs }),
      ...settings,
      models,
    }));
  }

  private find(account: Account): ProviderEntry {
    const key = JSON.stringify(account);
    const known = this.entries.get(key);
    if (known) return known;
    const base = account.name.replace(/[^\w.-]+/g, '-') || 'provider';
    let id = base;
    for (let number = 2; this.ids.has(id); number++) id = `${base}-${number}`;
    this.ids.add(id);
    const entry = { id, account, models: [] };
    this.entries.set(key, entry);
    return entry;
  }
}

const MAX_WEIGHT = 1_000_000;

/**
 * Adds the deployments of each name. LiteLLM weighs them by `weight`, otherwise by `rpm`, otherwise by `tpm`, if all of
 * them have it.
 */
export function addGroups(groups: ReadonlyMap<string, Deployment[]>, entries: ProviderEntries): void {
  for (const [name, deployments] of groups) {
    const measures: ((each: Deployment) => number | undefined)[] = [
      (each) => each.weight,
      (each) => each.requestsPerMinute,
      (each) => each.tokensPerMinute,
    ];
    const measure = measures.find((read) => deployments.length > 1 && deployments.every((each) => read(each)));
    for (const each of deployments) {
      const weight = measure?.(each) ?? each.weight;
      entries.add(each, name, weight === undefined ? undefined : Math.min(weight, MAX_WEIGHT));
    }
  }
}

/** An entry of `limits.models`. */
interface ModelLimit {
  model: string;
  requests_per_minute?: number;
  tokens_per_minute?: number;
}

/** Returns the rates of names as `limits.models`: the sum of their deployments, if all have one. */
export function writeModelLimits(groups: ReadonlyMap<string, Deployment[]>, report: ImportReport): ModelLimit[] {
  const limits: ModelLimit[] = [];
  for (const [name, deployments] of groups) {
    const sum = (field: 'rpm' | 'tpm', read: (each: Deployment) => number | undefined): number | undefined => {
      const rates = deployments.map(read);
      if (rates.every((rate) => rate === undefined)) return undefined;
      if (rates.some((rate) => rate === undefined)) {
        report.drop(`${deployments[0]!.path}.litellm_params.${field}`, `only some deployments of ${name} have it`);
        return undefined;
      }
      return Math.floor(rates.reduce<number>((total, rate) => total + rate!, 0));
    };
    const requests = sum('rpm', (each) => each.requestsPerMinute);
    const tokens = sum('tpm', (each) => each.tokensPerMinute);
    if (!requests && !tokens) continue;
    limits.push({
      model: escapeText(name),
      ...(requests && { requests_per_minute: requests }),
      ...(tokens && { tokens_per_minute: tokens }),
    });
  }
  return limits;
}

/** Adds each alias as another name of its deployments, with a limit like that of its target. */
export function addAliases(aliases: ForeignSection, groups: Map<string, Deployment[]>, limits: ModelLimit[]): void {
  for (const alias of aliases.names) {
    const value = aliases.take(alias);
    const target = typeof value === 'object' ? (value as { model?: unknown }).model : value;
    const deployments = typeof target === 'string' ? groups.get(target) : undefined;
    if (!deployments) aliases.drop(alias, 'its model is not in model_list');
    else if (groups.has(alias)) aliases.drop(alias, 'model_list has a model of this name');
    else {
      groups.set(alias, deployments);
      if (typeof value === 'object') aliases.change(alias, 'GET /models lists it, even if it was hidden');
      const limit = limits.find(({ model }) => model === escapeText(target as string)); // a name of `groups`
      if (!limit) continue;
      limits.push({ ...limit, model: escapeText(alias) });
      aliases.change(alias, `has a limit of its own, as high as that of ${String(target)}`);
    }
  }
}

interface FallbackParts {
  groups: ReadonlyMap<string, Deployment[]>;
  entries: ProviderEntries;
  report: ImportReport;
}

/** Adds the deployments of fallbacks to each name, with the weight 0 (choice 637). @param value `[{ a: [b, c] }]` */
export function addFallbacks(value: unknown, path: string, parts: FallbackParts): void {
  if (value !== undefined && !Array.isArray(value)) parts.report.drop(path, 'is not a list');
  for (const [index, mapping] of (Array.isArray(value) ? value : []).entries()) {
    for (const [name, targets] of Object.entries((mapping ?? {}) as Record<string, unknown>)) {
      const names = name === '*' ? [...parts.groups.keys()] : [name];
      for (const each of names) {
        addFallbacksOf(each, Array.isArray(targets) ? targets : [], `${path}[${index}].${name}`, parts);
      }
    }
  }
}

function addFallbacksOf(name: string, targets: unknown[], path: string, parts: FallbackParts): void {
  const { groups, entries, report } = parts;
  if (!groups.has(name)) report.drop(path, 'the model is not in model_list');
  else if (name.includes('*')) report.drop(path, `${name}: a wildcard cannot have fallbacks of another model`);
  else {
    const own = groups.get(name);
    const names = [...groups.keys()].filter((alias) => groups.get(alias) === own); // itself, and its aliases
    const others = targets.filter((target) => target !== name);
    for (const target of others) {
      const deployments = typeof target === 'string' && !target.includes('*') ? groups.get(target) : undefined;
      if (!deployments) report.drop(path, `${String(target)} is not in model_list, or a wildcard`);
      for (const alias of names) for (const each of deployments ?? []) entries.add(each, alias, 0);
    }
    if (others.length > 1) report.change(path, 'the order of several fallbacks follows prices and health');
  }
}
