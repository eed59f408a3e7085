import { isMapping } from '../../config/path.ts';
import { ForeignSection } from './foreign-section.ts';
import type { ImportReport } from './import-report.ts';
import { escapeText, type KeyVariables } from './key-variables.ts';
import { findWindow, WORKSPACE } from './litellm-settings.ts';

/** Models of a key that mean: all. */
const allModels = new Set(['all-team-models', 'all-proxy-models', '*']);

/** Fields of a key that are counted or described again, or say nothing that a key of the gateway could have. */
const ignored = new Set([
  'token',
  'key',
  'key_name',
  'spend',
  'created_at',
  'updated_at',
  'created_by',
  'updated_by',
  'last_active',
  'budget_reset_at',
  'model_spend',
  'litellm_budget_table',
  'org_id',
  'organization_id',
  'user_email',
  'user',
]);

interface ImportedKeys {
  workspaces: Set<string>;
  members: Map<string, Set<string>>;
  keys: Record<string, unknown>[];
  guardrails: Record<string, unknown>[];
}

/**
 * Reads the response of LiteLLM's `/key/list?return_full_object=true`. LiteLLM stores only hashes of keys, so each key gets
 * a new text, in a variable.
 *
 * @returns the section `bootstrap`
 */
export function readKeys(value: unknown, variables: KeyVariables, report: ImportReport): Record<string, unknown> {
  const list = isMapping(value) ? value['keys'] : value;
  const found: ImportedKeys = { workspaces: new Set(), members: new Map(), keys: [], guardrails: [] };
  if (!Array.isArray(list)) report.drop('keys', 'is not a list of keys');
  for (const [index, each] of (Array.isArray(list) ? list : []).entries()) {
    const path = `keys[${index}]`;
    if (isMapping(each)) readKey(new ForeignSection(each, path, report), found, { variables, report });
    else report.drop(path, 'has no settings; request the list with return_full_object=true');
  }
  return {
    workspaces: [...found.workspaces].map((name) => ({ name })),
    members: [...found.members].map(([id, workspaces]) => ({ id, workspaces: [...workspaces] })),
    keys: found.keys,
    guardrails: found.guardrails,
  };
}

function readKey(
  section: ForeignSection,
  found: ImportedKeys,
  { variables, report }: { variables: KeyVariables; report: ImportReport },
): void {
  const [alias, team, teamId] = [
    section.takeText('key_alias'),
    section.takeText('team_alias'),
    section.takeText('team_id'),
  ];
  const given = escapeText(alias ?? section.path.replace(/\W+/g, '-').replace(/-$/, ''));
  const isTaken = found.keys.some(({ name }) => name === given);
  const name = isTaken ? `${given}-${found.keys.length}` : given;
  const workspace = escapeText(team ?? teamId ?? WORKSPACE);
  const variable = variables.choose(`KEY_${name}`);
  report.variables.set(variable, `a new key for ${name}, of 8 or more characters`);
  found.workspaces.add(workspace);
  const user = section.takeText('user_id');
  const member = user === undefined ? undefined : escapeText(user);
  if (member !== undefined) {
    found.members.set(member, (found.members.get(member) ?? new Set()).add(workspace));
  }
  const rates = { rpm: section.takeNumber('rpm_limit'), tpm: section.takeNumber('tpm_limit') };
  const parallel = section.takeNumber('max_parallel_requests');
  const budget = readKeyBudget(section);
  found.keys.push({
    key: `\${${variable}}`,
    name,
    workspace,
    ...(member === undefined ? { acts_as: 'organization' } : { member }),
    ...(section.takeFlag('blocked') && { disabled: true }),
    ...(budget.total !== undefined && { credit_usd: budget.total }),
    ...(rates.rpm && { requests_per_minute: Math.floor(rates.rpm) }),
    ...(rates.tpm && { tokens_per_minute: Math.floor(rates.tpm) }),
    ...(parallel && { concurrent_requests: Math.floor(parallel) }),
  });
  const models = section.take('models');
  const allowed =
    Array.isArray(models) && !models.some((each) => allModels.has(String(each))) ? models.map(String) : [];
  const rules = { ...budget.rules, ...(allowed.length > 0 && { allowed_models: allowed.map(escapeText) }) };
  if (Object.keys(rules).length > 0) found.guardrails.push({ name: `key ${name}`, workspace, keys: [name], rules });
  for (const field of section.names) {
    const value = section.take(field);
    if (!ignored.has(field) && !isEmpty(value)) section.drop(field, 'keys have no such setting here');
  }
}

/** A budget without a window is a limit of the key, and one with a window a guardrail. */
function readKeyBudget(section: ForeignSection): { total?: number; rules?: Record<string, unknown> } {
  const usd = section.takeNumber('max_budget');
  const duration = section.takeText('budget_duration');
  if (usd === undefined) return {};
  const window = findWindow(duration);
  if (window === undefined) {
    section.drop('max_budget', `there is no window of ${duration}; the windows are 1d, 7d, 30d and none`);
    return {};
  }
  section.change('max_budget', 'counts spending from the import on');
  return window === 'lifetime' ? { total: usd } : { rules: { limit_usd: usd, reset_interval: window } };
}

const isEmpty = (value: unknown): boolean =>
  value === '' || value === false || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
