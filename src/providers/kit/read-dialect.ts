import type { Static, TObject, TSchema } from 'typebox';
import Schema from 'typebox/schema';
import { parameterNames } from '../../domain/endpoint.ts';
import type { Issue } from '../../domain/errors.ts';
import { findNearestName } from '../../domain/nearest-name.ts';
import { explainIssues } from '../../schema/explain-issues.ts';
import { fieldPath, Report } from '../../schema/report.ts';

/** Invalid settings of a dialect. Paths begin below `dialect`. The messages are for the operator. */
export class DialectError extends Error {
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[]) {
    super(issues.map(({ path, message }) => `dialect.${path} ${message}`).join(' '));
    this.name = 'DialectError';
    this.issues = issues;
  }
}

/**
 * Creates the function that reads the `dialect` of a provider's configuration. In the schema, every setting has a
 * default and a description.
 *
 * @param wireId the wire's name, for messages
 * @returns a function that returns all settings. It checks an object once, because the configuration is frozen. It
 *   throws a `DialectError` with every problem. Its messages have no values unless `mayShow`
 */
export function dialectReader<Schema extends TObject>(wireId: string, schema: Schema) {
  const defaults = readDefaults(schema);
  const known = new WeakMap<object, Static<Schema>>();
  return function readDialect(settings: Readonly<Record<string, unknown>>, mayShow = true): Static<Schema> {
    let dialect = known.get(settings);
    if (dialect === undefined) {
      const report = new DialectReport(mayShow);
      for (const name in settings) checkSetting(wireId, schema.properties, name, settings[name], report);
      if (report.issues.length > 0) throw new DialectError(report.issues);
      dialect = { ...defaults, ...settings } as Static<Schema>; // each setting has been checked, and none is missing
      known.set(settings, dialect);
    }
    return dialect;
  };
}

/** @returns the default of each setting */
function readDefaults({ properties }: TObject): Record<string, unknown> {
  const values = Object.entries(properties as Record<string, { default?: unknown }>);
  return Object.fromEntries(values.map(([name, setting]) => [name, setting.default]));
}

function checkSetting(
  wireId: string,
  properties: Record<string, TSchema>,
  name: string,
  value: unknown,
  report: Report,
): void {
  const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (schema === undefined) {
    const names = Object.keys(properties);
    const nearest = findNearestName(name, names);
    const rest = nearest === undefined ? `the settings are ${names.join(', ')}.` : `did you mean \`${nearest}\`?`;
    report.add(fieldPath('', name), `is not a setting of ${wireId}; ${rest}`);
  } else if (!Schema.Check(schema, value)) explainIssues(schema, value, name, report);
}

/** The path of an issue is the subject of its message. */
class DialectReport extends Report {
  private readonly mayShow: boolean;

  constructor(mayShow: boolean) {
    super();
    this.mayShow = mayShow;
  }

  override add(path: string, says: string): void {
    const message = says.replace(/^must be a boolean/, 'must be true or false');
    this.take({ path, message });
  }

  override fork(): DialectReport {
    return new DialectReport(this.mayShow);
  }

  override show(value: unknown): string | undefined {
    return this.mayShow ? super.show(value) : undefined;
  }
}

/** Shorter names of fields are near to too many others. */
const MIN_HINTED = 6;

/** Returns hints at `fields` that are probably misspelled. Any name is valid, because a server may have its own fields. */
export function hintAtFields({ fields }: Readonly<Record<string, unknown>>): Issue[] {
  if (typeof fields !== 'object' || fields === null) return [];
  const known: readonly string[] = parameterNames;
  return Object.keys(fields).flatMap((name) => {
    const nearest = name.length < MIN_HINTED || known.includes(name) ? undefined : findNearestName(name, known);
    const message = `is not a field that Headgate knows; did you mean \`${nearest}\`?`;
    return nearest === undefined ? [] : [{ path: fieldPath('fields', name), message }];
  });
}
