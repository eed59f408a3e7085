import type { LoadedConfig } from '../../config/load.ts';
import { settingsOf } from '../../providers/provider.ts';
import type { RefusalLesson } from '../../domain/errors.ts';
import { lessonAbout } from '../../providers/rules/lessons.ts';
import { mergeSettings } from '../../providers/rules/merge-settings.ts';
import type { Settings } from '../../providers/rules/rule-sets.ts';
import { keepRead } from '../../providers/rules/unread.ts';
import { findGateway, listensAt } from '../find-gateway.ts';
import { readRoutingContext } from '../read-routing-context.ts';
import type { Finding } from './finding.ts';

const TIMEOUT_MS = 2000;
const sample = /^headgate_learned_rules_total\{(.*)\} /;
const label = /(\w+)="((?:[^"\\]|\\.)*)"/g;
/** Another program may listen at the port: the time to read its lines, and the lines of the report, are bounded. */
const MAX_LINE = 2000;
const MAX_RULES = 100;

interface LearnedRule {
  /** A slug, or the pattern of a wildcard. */
  model: string;
  /** The id of the provider. */
  provider: string;
  refused: string;
}

/**
 * Lists the rules that the running gateway of this data folder has learned since its start, one finding for each model, with
 * the settings that make them permanent. Returns nothing if no gateway runs, or if its metrics need a key.
 */
export async function checkLearnedRules(loaded: LoadedConfig): Promise<Finding[]> {
  const { config, dataDir } = loaded;
  if (config.server.port === 0 || !listensAt(dataDir, config.server)) return [];
  const gateway = await findGateway(config.server);
  const rules = gateway ? await readRules(gateway.url) : [];
  if (rules.length === 0) return [];
  const { catalog } = readRoutingContext(loaded, () => {});
  const byModel = Map.groupBy(rules, ({ model, provider }) => JSON.stringify([provider, model]));
  return [...byModel.values()].map((ofModel) => {
    const [{ model, provider }] = ofModel as [LearnedRule, ...LearnedRule[]]; // a group has at least one
    const refused = [...new Set(ofModel.map((rule) => rule.refused))];
    const endpoint = catalog.endpoints.find(
      (each) => (each.pattern ?? each.model) === model && each.provider.id === provider,
    );
    const lessons = refused.flatMap((name) => lessonAbout(name) ?? []);
    const wire = endpoint?.provider.wire;
    const dialect = writeDialect(lessons, wire && settingsOf(endpoint!, wire), wire?.id);
    const isPattern = model.includes('*');
    return {
      status: 'warn',
      subject: provider,
      says: `refuses ${refused.map((name) => `\`${name}\``).join(', ')} for ${isPattern ? `a model of ${model}` : model}; the gateway sends requests without that for a day`,
      fix: `To make this permanent, add to the model in headgate.yaml: dialect: ${dialect}${isPattern ? ' (the log line `provider rule learned` names the model)' : ''}`,
    };
  });
}

/**
 * Writes the settings of several lessons as one value of `dialect`.
 *
 * @param wire the id of the wire, whose check rejects settings that it does not read
 */
function writeDialect(lessons: readonly RefusalLesson[], current: Settings = {}, wire?: string): string {
  let all = current;
  let added: Settings = {};
  for (const lesson of lessons) {
    const settings = lesson.settings(all);
    all = mergeSettings(all, settings);
    added = mergeSettings(added, settings);
  }
  return JSON.stringify(wire === undefined ? added : keepRead(wire, added));
}

async function readRules(url: string): Promise<LearnedRule[]> {
  try {
    const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok) return [];
    return (await response.text()).split('\n').flatMap(readRule).slice(0, MAX_RULES);
  } catch {
    return []; // the port check reports a gateway that does not respond
  }
}

function readRule(line: string): LearnedRule[] {
  const labels = line.length <= MAX_LINE ? sample.exec(line)?.[1] : undefined;
  if (labels === undefined) return [];
  const { model, provider, refused } = Object.fromEntries(
    [...labels.matchAll(label)].map(([, name, text]) => [name!, text!.replaceAll(/\\(.)/g, '$1')]),
  );
  return model !== undefined && provider !== undefined && refused !== undefined ? [{ model, provider, refused }] : [];
}
