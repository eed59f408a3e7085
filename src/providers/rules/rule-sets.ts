import files from './data/index.ts';

/** Settings of `dialect`, by name. */
export type Settings = Readonly<Record<string, unknown>>;

/** One rule of a provider or of a family of models. */
export interface Rule {
  /** Unique, for tests and reports: `mistral/call-ids`. */
  id: string;
  /** One sentence about what the server accepts. */
  rule: string;
  /** The facets and settings of a wire that express it. */
  set: Settings;
  /** A public issue (`owner/name#number`) or a page of documentation. */
  source: string;
  /** The day on which the source was read: `YYYY-MM-DD`. */
  seen: string;
}

/** The endpoints for which a set holds. All that is named must match. `providers` and `hosts` are alternatives. */
export interface RuleMatch {
  wires?: readonly string[];
  providers?: readonly string[];
  /** Hosts, with their subdomains. */
  hosts?: readonly string[];
  /** Matches the name of the model, in lower case and without a vendor before it. */
  models?: RegExp;
  /** The name of a model for which the set holds, for tests. */
  example: string;
}

export interface RuleSet {
  match: RuleMatch;
  rules: readonly Rule[];
}

/** A set as it is written in a file of `data/`. */
export interface WrittenRuleSet {
  match: Omit<RuleMatch, 'models'> & { models?: string };
  rules: Rule[];
}

/** How specific a set is: a set of a wire, of a family of models, of a provider, of a family at a provider. */
const rank = ({ providers, hosts, models }: WrittenRuleSet['match']): number =>
  (providers || hosts ? 2 : 0) + (models === undefined ? 0 : 1);

/** All rule sets, the general ones first. The later ones override the earlier ones. */
export const ruleSets: readonly RuleSet[] = (files as unknown as { sets: WrittenRuleSet[] }[]) // checked by a test
  .flatMap(({ sets }) => sets)
  .sort((a, b) => rank(a.match) - rank(b.match))
  .map(({ match: { models, ...match }, rules }) => ({
    match: { ...match, ...(models !== undefined && { models: new RegExp(models) }) },
    rules,
  }));
