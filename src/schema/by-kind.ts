import { type Static, type TSchema, type TUnsafe, Type } from 'typebox';
import { Compile } from 'typebox/compile';

/** How an object of several kinds is told apart. `explain-issues.ts` reads this to name the kinds there are. */
export interface Kinds {
  /** What one of them is called in a message, with its article: `an input item`. */
  noun: string;
  /** The field that names the kind: `type`, `role` or `id`. */
  key: string;
  schemas: ReadonlyMap<string, TSchema>;
  /** The kind of an object without the field; `undefined` when the field is needed. */
  kindWithoutKey: (value: Record<string, unknown>) => string | undefined;
  /** For kinds that no page lists; without it they are rejected. */
  other: TSchema | undefined;
  /** Names that are rejected also with `other`, because they are no new kinds → the kind that is meant, if that is known. */
  reserved: ReadonlyMap<unknown, string | undefined>;
  /** The page that lists them, for a message that would be too long with all of them. */
  docs: string | undefined;
  /** The compiled check: whether a value is one of them. */
  check: (value: unknown) => boolean;
}

interface KindOptions {
  kindWithoutKey?: Kinds['kindWithoutKey'];
  other?: TSchema;
  reserved?: Kinds['reserved'];
  docs?: string;
}

const kindsByCheck = new WeakMap<object, Kinds>();

/**
 * A schema that looks at one field and then checks with the schema of that kind alone, instead of trying a union member
 * by member: the check stays flat in the number of kinds, and a failure can be explained for the kind that was meant.
 * Each kind is compiled once, here. The names are held in a Map, so that `__proto__` and `constructor` name no kind.
 */
export function byKind<const Schemas extends Record<string, TSchema>>(
  noun: string,
  key: string,
  schemas: Schemas,
  options: KindOptions = {},
): TUnsafe<Static<Schemas[keyof Schemas]>> {
  const byName: ReadonlyMap<string, TSchema> = new Map(Object.entries(schemas));
  const { other, docs, kindWithoutKey = () => undefined, reserved = new Map() } = options;
  const compile = (schema: TSchema) => {
    const validator = Compile(schema);
    return (value: unknown): boolean => validator.Check(value);
  };
  const checks = new Map<unknown, (value: unknown) => boolean>();
  for (const [kind, schema] of byName) checks.set(kind, compile(schema));
  const checkOther = other === undefined ? () => false : compile(other);

  const check = (value: unknown): boolean => {
    if (!isObject(value)) return false;
    const kind = value[key] === undefined ? kindWithoutKey(value) : value[key];
    const checkKind = checks.get(kind);
    if (checkKind !== undefined) return checkKind(value);
    return !reserved.has(kind) && checkOther(value);
  };
  kindsByCheck.set(check, { noun, key, schemas: byName, kindWithoutKey, other, reserved, docs, check });
  return Type.Refine(Type.Unsafe<Static<Schemas[keyof Schemas]>>({}), check);
}

/** The kinds behind a schema made by `byKind`, `undefined` for every other schema. */
export function findKinds(schema: TSchema): Kinds | undefined {
  const refinement = refinementsOf(schema)[0];
  return refinement === undefined ? undefined : kindsByCheck.get(refinement.check);
}

/** The checks hung on a schema with `Type.Refine`, in order. */
export function refinementsOf(
  schema: TSchema,
): { check: (value: unknown) => boolean; error: (value: unknown) => string }[] {
  // TypeBox keeps them under this key and hides it from its types.
  return (schema as { '~refine'?: ReturnType<typeof refinementsOf> })['~refine'] ?? [];
}

/** A JSON object: no null, no array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
