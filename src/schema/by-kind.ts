import { type Static, type TSchema, type TUnsafe, Type } from 'typebox';
import { createCheck } from './create-check.ts';

/** The kinds of an object. `explain-issues.ts` uses them to name the kinds. */
export interface Kinds {
  /** The name of one of them in messages, with its article: `an input item`. */
  noun: string;
  /** The field that names the kind: `type`, `role` or `id`. */
  key: string;
  schemas: ReadonlyMap<string, TSchema>;
  /** Returns the kind of an object without the field. Undefined if the field is required. */
  kindWithoutKey: (value: Record<string, unknown>) => string | undefined;
  /** The schema of unknown kinds. Absent: they are rejected. */
  other: TSchema | undefined;
  /** Names that are always rejected → the kind that is probably meant, if known. */
  reserved: ReadonlyMap<unknown, string | undefined>;
  /** The page that lists them, if there are too many for a message. */
  docs: string | undefined;
  /** The name in the OpenAPI document. Absent: that of the noun. */
  component: string | undefined;
  /** The end of the names of its kinds there. Absent: the name. */
  kindComponent: string | undefined;
  /** A kind that is unknown there. */
  undocumented: string | undefined;
  /** Returns the schema of the kind that an object names, or that it has without naming it. */
  findSchema: (value: Record<string, unknown>) => TSchema | undefined;
  /** The compiled check: whether a value is one of them. */
  check: (value: unknown) => boolean;
}

interface KindOptions {
  kindWithoutKey?: Kinds['kindWithoutKey'];
  other?: TSchema;
  /** Absent: `other` describes every unknown kind. */
  takesOther?: (kind: string) => boolean;
  reserved?: Kinds['reserved'];
  docs?: string;
  component?: string;
  kindComponent?: string;
  undocumented?: string;
}

const kindsByCheck = new WeakMap<object, Kinds>();

/**
 * Creates a schema that reads one field and then checks only the schema of that kind, instead of each member of a
 * union. The check costs the same for any number of kinds, and a failure is explained for the intended kind. Each
 * kind is compiled at its first use. The names are in a Map, so that `__proto__` and `constructor` are not kinds.
 */
export function byKind<const Schemas extends Record<string, TSchema>>(
  noun: string,
  key: string,
  schemas: Schemas,
  options: KindOptions = {},
): TUnsafe<Static<Schemas[keyof Schemas]>> {
  const byName: ReadonlyMap<string, TSchema> = new Map(Object.entries(schemas));
  const { other, takesOther = () => true, docs, component, kindComponent, undocumented } = options;
  const { kindWithoutKey = () => undefined, reserved = new Map() } = options;
  const checks = new Map<unknown, (value: unknown) => boolean>();
  for (const [kind, schema] of byName) checks.set(kind, createCheck(schema));
  const checkOther = other === undefined ? () => false : createCheck(other);

  const readKind = (value: Record<string, unknown>): unknown =>
    value[key] === undefined ? kindWithoutKey(value) : value[key];
  const isOther = (kind: unknown): boolean => typeof kind === 'string' && !reserved.has(kind) && takesOther(kind);
  const check = (value: unknown): boolean => {
    if (!isObject(value)) return false;
    const kind = readKind(value);
    const checkKind = checks.get(kind);
    return checkKind === undefined ? isOther(kind) && checkOther(value) : checkKind(value);
  };
  const findSchema = (value: Record<string, unknown>): TSchema | undefined => {
    const kind = readKind(value);
    if (typeof kind !== 'string') return undefined;
    return byName.get(kind) ?? (isOther(kind) ? other : undefined);
  };
  const common = {
    noun,
    key,
    schemas: byName,
    kindWithoutKey,
    other,
    reserved,
    docs,
    component,
    kindComponent,
    undocumented,
  };
  kindsByCheck.set(check, { ...common, findSchema, check });
  return Type.Refine(Type.Unsafe<Static<Schemas[keyof Schemas]>>({}), check);
}

/** Returns the kinds of a schema from `byKind`. Undefined for other schemas. */
export function findKinds(schema: TSchema): Kinds | undefined {
  const refinement = refinementsOf(schema)[0];
  return refinement === undefined ? undefined : kindsByCheck.get(refinement.check);
}

/** Returns the checks that `Type.Refine` added to a schema, in order. */
export function refinementsOf(
  schema: TSchema,
): { check: (value: unknown) => boolean; error: (value: unknown) => string }[] {
  // TypeBox stores them under this key, which its types do not show
  return (schema as { '~refine'?: ReturnType<typeof refinementsOf> })['~refine'] ?? [];
}

/** Whether a value is a JSON object, not null and not an array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
