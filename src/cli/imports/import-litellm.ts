import { readTree } from '../../config/read-file.ts';
import { ForeignSection } from './foreign-section.ts';
import { ImportReport } from './import-report.ts';
import { KeyVariables } from './key-variables.ts';
import { type Deployment, readDeployment } from './litellm-deployments.ts';
import { readKeys } from './litellm-keys.ts';
import { addAliases, addFallbacks, addGroups, ProviderEntries, writeModelLimits } from './litellm-models.ts';
import { importSettings } from './litellm-settings.ts';

/** A configuration of this gateway, made of a foreign one. */
export interface Imported {
  config: Record<string, unknown>;
  report: ImportReport;
}

/** @throws {Error} if a file cannot be parsed. The message never quotes it, because it may contain keys */
export function importLitellm(
  text: string,
  { keys: keysText, env }: { keys?: string | undefined; env: Readonly<Record<string, string | undefined>> },
): Imported {
  const { tree, problems } = readTree(text);
  const [problem] = problems;
  if (problem) throw new Error(`line ${problem.line}: ${problem.message}`);
  const report = new ImportReport();
  const variables = new KeyVariables(text, report);
  const file = new ForeignSection(tree, '', report);
  const groups = readGroups(file.take('model_list'), { report, keys: variables, env });
  const limits = writeModelLimits(groups, report);
  const router = file.takeSection('router_settings');
  const litellm = file.takeSection('litellm_settings');
  addAliases(router.takeSection('model_group_alias'), groups, limits);
  const entries = new ProviderEntries();
  addGroups(groups, entries);
  for (const section of [router, litellm]) {
    for (const field of ['fallbacks', 'context_window_fallbacks']) {
      addFallbacks(section.take(field), section.place(field), { groups, entries, report });
    }
    const all = section.take('default_fallbacks');
    if (all !== undefined) {
      addFallbacks([{ '*': all }], section.place('default_fallbacks'), { groups, entries, report });
    }
  }
  const general = file.takeSection('general_settings');
  const settings = importSettings({ router, litellm, general }, variables);
  const environment = file.takeSection('environment_variables');
  for (const name of environment.names) {
    environment.take(name);
    if (report.variables.has(name)) report.variables.set(name, `the value of ${environment.place(name)}`);
    else environment.drop(name, 'the new configuration does not need it');
  }
  file.finish({
    include: 'import the included files one by one',
    guardrails:
      'add content filters with headgate guardrails, or to bootstrap.guardrails; guardrails.analyzer_url is for Presidio',
  });
  const bootstrap = mergeBootstrap(
    settings['bootstrap'],
    keysText === undefined ? undefined : readKeys(parseKeys(keysText), variables, report),
  );
  const providers = entries.list();
  const config = {
    ...(providers.length > 0 && { providers }),
    ...settings,
    // LiteLLM serves only the models of its list.
    catalog: { auto_discover: false },
    ...(limits.length > 0 && { limits: { models: limits } }),
    ...(bootstrap && { bootstrap }),
  };
  return { config, report };
}

function readGroups(list: unknown, parts: Parameters<typeof readDeployment>[2]): Map<string, Deployment[]> {
  const groups = new Map<string, Deployment[]>();
  if (!Array.isArray(list)) parts.report.drop('model_list', 'is missing or no list');
  for (const [index, entry] of (Array.isArray(list) ? list : []).entries()) {
    const deployment = readDeployment(entry, `model_list[${index}]`, parts);
    if (deployment) groups.set(deployment.group, [...(groups.get(deployment.group) ?? []), deployment]);
  }
  return groups;
}

function parseKeys(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('the list of keys is not JSON');
  }
}

/** Joins the lists of two sections `bootstrap`. Workspaces of the same name are one. */
function mergeBootstrap(...sections: unknown[]): Record<string, unknown[]> | undefined {
  const merged: Record<string, unknown[]> = {};
  for (const section of sections) {
    for (const [name, list] of Object.entries((section ?? {}) as Record<string, unknown[]>)) {
      const known = new Set((merged[name] ?? []).map((each) => JSON.stringify(each)));
      const added = list.filter((each) => !known.has(JSON.stringify(each)));
      if (added.length > 0) merged[name] = [...(merged[name] ?? []), ...added];
    }
  }
  return Object.keys(merged).length === 0 ? undefined : merged;
}
