import { createHash } from 'node:crypto';

type Schema = Record<string, unknown>;

const accepted = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * Renames the top-level properties of a schema that a server rejects.
 *
 * @returns `names`: name of the client → name that is sent; undefined if all are accepted
 */
export function fitProperties(schema: Schema): { schema: Schema; names: ReadonlyMap<string, string> | undefined } {
  const { properties, required } = schema;
  if (typeof properties !== 'object' || properties === null) return { schema, names: undefined };
  const names = new Map<string, string>();
  for (const name of Object.keys(properties)) if (!accepted.test(name)) names.set(name, rename(name, properties));
  if (names.size === 0) return { schema, names: undefined };
  const toSent = (name: string): string => names.get(name) ?? name;
  const renamed = Object.fromEntries(Object.entries(properties).map(([name, value]) => [toSent(name), value]));
  const fitted: Schema = { ...schema, properties: renamed };
  if (Array.isArray(required))
    fitted.required = required.map((name) => (typeof name === 'string' ? toSent(name) : name));
  return { schema: fitted, names };
}

/** Returns a readable name that no other property has. */
function rename(name: string, properties: object): string {
  const readable =
    name
      .replace(/[^A-Za-z0-9_.-]+/g, '_')
      .replace(/^_+|_+$/g, '')
      .slice(0, 55) || 'value';
  if (!(readable in properties)) return readable;
  return `${readable}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}

/** Renames the properties of an input. A property that the schema lacks may have the new name of another one. */
export const renameInput = (input: object, names: ReadonlyMap<string, string>): object =>
  Object.fromEntries(
    Object.entries(input).map(([key, value]) => {
      const name = names.get(key) ?? key;
      return [name !== key && name in input ? `${name}_` : name, value];
    }),
  );
