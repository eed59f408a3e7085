import type { Static, TObject, TSchema } from 'typebox';
import Schema from 'typebox/schema';

/**
 * Creates the function that reads the `dialect` of a provider's configuration. In the schema, every setting has a
 * default and a description.
 *
 * @param wireId the wire's name, for messages
 * @returns a function that returns all settings. It checks an object once, because the configuration is frozen. It
 *   throws an `Error` for the operator, because only the operator writes a dialect.
 */
export function dialectReader<Schema extends TObject>(wireId: string, schema: Schema) {
  const defaults = readDefaults(schema);
  const known = new WeakMap<object, Static<Schema>>();
  return function readDialect(settings: Readonly<Record<string, unknown>>): Static<Schema> {
    let dialect = known.get(settings);
    if (dialect === undefined) {
      for (const name in settings) checkSetting(wireId, schema.properties, name, settings[name]);
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

function checkSetting(wireId: string, properties: Record<string, TSchema>, name: string, value: unknown): void {
  const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
  if (schema === undefined) {
    throw new Error(`dialect.${name} is not a setting of ${wireId}; these are: ${Object.keys(properties).join(', ')}.`);
  }
  if (!Schema.Check(schema, value)) {
    throw new Error(`dialect.${name} cannot be ${JSON.stringify(value)}. ${describe(schema)}`);
  }
}

function describe(schema: TSchema): string {
  const {
    description,
    enum: values,
    items,
    type,
  } = schema as {
    description: string;
    enum?: string[];
    items?: { enum?: string[] };
    type?: string;
  };
  const allowed = values ?? items?.enum ?? (type === 'boolean' ? ['true', 'false'] : undefined);
  return `${allowed ? `Allowed: ${allowed.join(', ')}. ` : ''}${description}`;
}
