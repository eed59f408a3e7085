import { filterActions, INJECTION_SLUG } from '../../domain/content-filter.ts';
import { modelGroups } from '../../domain/guardrail.ts';
import { CommandError } from '../terminal.ts';

/** Options of a command that are no fields, by their names in camel case. */
export type Shorthands = Record<string, string | string[] | boolean | undefined>;

interface FilterFields {
  content_filters?: unknown;
  content_filter_builtins?: unknown;
}

/**
 * Returns the fields that shorthands set.
 *
 * @param readFile reads a YAML or JSON file
 * @throws {CommandError} for a word that an option does not know
 */
export async function expandShorthands(
  { zdr, forbid, enable, disable, webhook, filters, file, ...given }: Shorthands,
  readFile: (name: string) => Promise<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  if (enable && disable) throw new CommandError('Use either --enable or --disable, not both.');
  const name = filters ?? file;
  const isRead = name !== undefined && name !== 'none';
  const fromFile = isRead ? readFilters(String(name), await readFile(String(name))) : name === 'none' ? noFilters : {};
  return {
    ...(Array.isArray(zdr) && readGroups(zdr)),
    ...(Array.isArray(forbid) && readForbidden(forbid)),
    ...((enable || disable) && { disabled: disable === true }),
    ...(webhook && { kind: 'webhook' }),
    ...fromFile,
    ...readBuiltins(given, fromFile),
  };
}

const noFilters: FilterFields = { content_filters: null, content_filter_builtins: null };

/** Takes the content filters of a file. Other settings have options. */
function readFilters(name: string, { content_filters, content_filter_builtins }: FilterFields): FilterFields {
  if (content_filters === undefined && content_filter_builtins === undefined) {
    throw new CommandError(`${name} has neither content_filters nor content_filter_builtins.`);
  }
  return {
    ...(content_filters !== undefined && { content_filters }),
    ...(content_filter_builtins !== undefined && { content_filter_builtins }),
  };
}

/** Returns the built-in filters of options. The check of the body rejects unknown words. */
function readBuiltins({ scanScope, applyTo, ...given }: Shorthands, fromFile: FilterFields): FilterFields {
  const builtins = filterActions.flatMap((action) => [given[action] ?? []].flat().map((slug) => ({ slug, action })));
  if (builtins.length === 0) {
    const name = scanScope !== undefined ? '--scan-scope' : applyTo && '--apply-to';
    if (name === undefined) return {};
    throw new CommandError(`${name} applies to filters of --flag, --redact and --block; give one.`);
  }
  if (fromFile.content_filter_builtins) {
    throw new CommandError('The file already has built-in filters. Add those of --flag, --redact and --block to it.');
  }
  return {
    content_filter_builtins: builtins.map((filter) => ({
      ...filter,
      ...(filter.slug === INJECTION_SLUG && scanScope !== undefined && { scan_scope: scanScope }),
      ...(applyTo !== undefined && { apply_to: applyTo }),
    })),
  };
}

const policies = ['paid-training', 'free-training', 'free-publication'];
const policyFields: Record<string, string> = {
  'paid-training': 'enable_paid_model_training',
  'free-training': 'enable_free_model_training',
  'free-publication': 'enable_free_model_publication',
};

const isNone = (list: readonly string[]): boolean => list.length === 1 && list[0] === 'none';

/** Enables the wanted groups, and removes the rule for all others. */
function readGroups(wanted: readonly string[]): Record<string, true | null> {
  const isAll = wanted.length === 1 && wanted[0] === 'all';
  const groups: readonly string[] = isAll ? modelGroups : isNone(wanted) ? [] : wanted;
  refuseUnknown('--zdr', groups, [...modelGroups, 'all', 'none']);
  return Object.fromEntries(modelGroups.map((group) => [`enforce_zdr_${group}`, groups.includes(group) ? true : null]));
}

/** Forbids the wanted policies, and removes the rule for all others. */
function readForbidden(wanted: readonly string[]): Record<string, false | null> {
  const words: readonly string[] = isNone(wanted) ? [] : wanted;
  refuseUnknown('--forbid', words, [...policies, 'none']);
  return Object.fromEntries(policies.map((word) => [policyFields[word], words.includes(word) ? false : null]));
}

function refuseUnknown(option: string, words: readonly string[], known: readonly string[]): void {
  const wrong = words.find((word) => !known.includes(word) || word === 'all' || word === 'none');
  if (wrong === undefined) return;
  const alone = known.includes('all') ? 'all and none' : 'none';
  throw new CommandError(`${option} ${wrong}: give ${known.join(', ')}; ${alone} cannot be combined.`);
}
