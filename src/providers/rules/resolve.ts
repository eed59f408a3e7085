import type { RefusalLesson } from '../../domain/errors.ts';
import { type Learned, Lessons } from './lessons.ts';
import { mergeSettings } from './merge-settings.ts';
import { type RuleMatch, type RuleSet, ruleSets, type Settings } from './rule-sets.ts';
import { ruledWires } from './unread.ts';

/** The endpoint whose rules are wanted. */
export interface RulePlace {
  /** The id of the wire: `openai-chat`. */
  wire: string;
  /** The id of the known provider that an entry of the configuration names, or its own id. */
  provider: string;
  /** The host of the base URL. */
  host: string | undefined;
  /** The name of the model at the provider, or of the model behind a deployment. */
  model: string;
}

/** The name of a host or vendor before that of a family: `databricks-gpt-5`, `zai-glm-4.7`, `moonshot.kimi-k2-thinking`. */
const vendor =
  /^(?:[a-z]{2,12}\.)?(?:databricks|openai|zai(?:-org)?|z-ai|moonshot(?:ai)?|minimax|qwen|deepseek|google|xai|x-ai|meta|nvidia|ai)[.-](?=gpt-|o[1-9]|glm-|kimi-|minimax-m|deepseek|qwen|gemini|gemma|grok|(?:meta-)?llama|nemotron)/;

/**
 * Returns the name of a model in lower case, without a path or a vendor before it. A version has a dot: Fireworks writes
 * `kimi-k2p5`, Databricks `gpt-5-1`. A name of Claude begins with `claude` and has no dots: Vertex writes
 * `claude-sonnet-4-5@20250929`, Bedrock a region before it, and gateways `claude-sonnet-4.5`.
 */
export function bareName(model: string): string {
  const name = model.toLowerCase().replace(/^.*\//, '');
  const start = name.indexOf('claude');
  if (start !== -1) return name.slice(start).replace(/[.@]/g, '-');
  return name
    .replace(vendor, '')
    .replace(/(?<=\d)p(?=\d)/, '.')
    .replace(/^gpt-5-?(?=\d(?:-|$))/, 'gpt-5.');
}

/** Whether a rule set holds for an endpoint. */
function matches({ wires, providers, hosts, models }: RuleMatch, place: RulePlace): boolean {
  if (wires && !wires.includes(place.wire)) return false;
  if (providers || hosts) {
    const isNamed = providers?.includes(place.provider) === true;
    const isAt = hosts?.some((host) => place.host === host || place.host?.endsWith(`.${host}`)) === true;
    if (!isNamed && !isAt) return false;
  }
  return models === undefined || models.test(bareName(place.model));
}

/** Lists the rule sets that hold for an endpoint, in the order in which they override one another. */
export function listRuleSets(place: RulePlace): RuleSet[] {
  return ruledWires.includes(place.wire) ? ruleSets.filter(({ match }) => matches(match, place)) : [];
}

/** Returns the settings of an endpoint: those of its rules, overridden by those of the operator. */
export function resolveSettings(place: RulePlace, own: Settings): Settings {
  const rules = listRuleSets(place).flatMap((set) => set.rules);
  if (rules.length === 0) return own;
  return mergeSettings(
    rules.reduce<Settings>((settings, rule) => mergeSettings(settings, rule.set), {}),
    own,
  );
}

/** The models of one provider whose settings are kept. A caller can name any model through a wildcard. */
const MAX_KEPT = 1000;

/** The settings of the endpoints of one provider. */
export class EndpointSettings {
  private readonly place: Pick<RulePlace, 'provider' | 'host'>;
  private readonly own: Settings;
  private readonly known = new Map<string, Settings>();
  private readonly lessons = new Lessons();
  /** The settings with lessons, and the names of the lessons in them. */
  private readonly taught = new Map<string, { names: string; settings: Settings }>();

  /** @param own the `dialect` of the provider */
  constructor(place: Pick<RulePlace, 'provider' | 'host'>, own: Settings) {
    this.place = place;
    this.own = own;
  }

  /** Returns the same object for the same endpoint, which the wires check only once, until it learns something. */
  of(wire: string, model: string): Settings {
    if (this.lessons.isEmpty) return this.ruled(wire, model);
    const lessons = this.lessons.of(wire, model);
    if (lessons.length === 0) return this.ruled(wire, model);
    const key = `${wire} ${model}`;
    const known = this.taught.get(key);
    const names = lessons.map(({ name }) => name).join();
    if (known?.names === names) return known.settings;
    const settings = lessons.reduce((all, lesson) => mergeSettings(all, lesson.settings), this.ruled(wire, model));
    if (this.taught.size >= MAX_KEPT) this.taught.clear();
    this.taught.set(key, { names, settings });
    return settings;
  }

  /**
   * Remembers for a day what the server of an endpoint has refused, after it has accepted a request without it.
   *
   * @returns what was learned; undefined if it was known, so that the refusal has another cause
   */
  learn(wire: string, model: string, lesson: RefusalLesson): Learned | undefined {
    if (!ruledWires.includes(wire)) return undefined;
    const learned = { wire, model, name: lesson.name, settings: lesson.settings(this.of(wire, model)) };
    return this.lessons.add(learned) ? learned : undefined;
  }

  /** Lists the ids of the rules of an endpoint. */
  rulesFor(wire: string, model: string): string[] {
    return listRuleSets({ ...this.place, wire, model }).flatMap(({ rules }) => rules.map(({ id }) => id));
  }

  private ruled(wire: string, model: string): Settings {
    const key = `${wire} ${model}`;
    let settings = this.known.get(key);
    if (settings === undefined) {
      if (this.known.size >= MAX_KEPT) this.known.clear();
      settings = resolveSettings({ ...this.place, wire, model }, this.own);
      this.known.set(key, settings);
    }
    return settings;
  }
}
