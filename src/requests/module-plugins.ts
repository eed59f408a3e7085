import type { TSchema } from 'typebox';
import { Compile } from 'typebox/schema';
import { isObject } from '../schema/by-kind.ts';
import { dropNulls } from '../schema/drop-nulls.ts';
import { explainIssues } from '../schema/explain-issues.ts';
import { fieldPath, type Report } from '../schema/report.ts';

/** The settings of a plugin from a module of the operator. */
export interface ModuleSettings {
  /** All fields, with `id` and `enabled`. Undefined: any. */
  readonly fields: ReadonlySet<string> | undefined;
  /** Reports the problems of a setting. Removes nulls that stand for absent fields. */
  check(setting: Record<string, unknown>, path: string, report: Report): void;
}

/** The plugins of the operator's modules, by id. */
export type ModulePlugins = ReadonlyMap<string, ModuleSettings>;

/** Fields that every plugin has. */
const commonFields = ['id', 'enabled', 'prevent_overrides'];

/**
 * Compiles the settings schema of a plugin.
 *
 * @param schema JSON Schema of an object; undefined: every setting is accepted
 * @throws {Error} for the operator
 */
export function compileModuleSettings(schema: unknown): ModuleSettings {
  if (schema === undefined) return { fields: undefined, check: () => {} };
  if (!isObject(schema) || schema['type'] !== 'object') {
    throw new Error('`settings` must be a JSON Schema of the type `object`.');
  }
  const { properties, additionalProperties: others } = schema;
  if (properties !== undefined && !isObject(properties))
    throw new Error('`properties` of `settings` must be an object.');
  const reserved = commonFields.find((field) => isObject(properties) && field in properties);
  if (reserved !== undefined) throw new Error(`\`settings\` must not have \`${reserved}\`, which every plugin has.`);
  const typed = schema as TSchema; // the keywords that the compiler does not know have no effect
  const validator = Compile(typed);
  const isOpen = properties === undefined || others === true || isObject(others);
  return {
    fields: isOpen ? undefined : new Set(['id', 'enabled', ...Object.keys(properties as object)]),
    check(setting, path, report) {
      dropNulls(typed, setting);
      const own = Object.fromEntries(Object.entries(setting).filter(([field]) => !commonFields.includes(field)));
      if (validator.Check(own)) return;
      const before = report.issues.length;
      explainIssues(typed, own, path, report);
      // A setting that failed its check is rejected, even if there is no explanation.
      if (report.issues.length === before) report.add(fieldPath(path, 'id'), 'names a plugin with other settings');
    },
  };
}
