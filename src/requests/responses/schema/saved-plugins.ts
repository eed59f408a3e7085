import { type TSchema, type TUnsafe, Type } from 'typebox';
import { pluginOrder, routerPlugins } from '../../../domain/plugin.ts';
import type { SavedPlugin } from '../../../domain/request-defaults.ts';
import { byKind, findKinds } from '../../../schema/by-kind.ts';
import { pluginFields, pluginSetting } from './plugins.ts';

/** Maximum number of plugins that a workspace saves. */
const MAX_SAVED = 100;

const offered: readonly string[] = [...pluginOrder, ...routerPlugins];

const commonFields = { enabled: Type.Optional(Type.Boolean()), prevent_overrides: Type.Optional(Type.Boolean()) };

/** A setting as in a request, and `prevent_overrides`. Unknown fields are rejected: they would never have an effect. */
const savedPlugin = byKind(
  'a saved plugin',
  'id',
  Object.fromEntries(
    [...(findKinds(pluginSetting)?.schemas ?? [])]
      .filter(([id]) => offered.includes(id))
      .map(([id, schema]) => [id, strictSetting(schema)]),
  ),
  { other: Type.Object({ id: Type.String(), ...commonFields }), takesOther: (id) => !pluginFields.has(id) },
) as TUnsafe<SavedPlugin>; // each has an id

function strictSetting(schema: TSchema): TSchema {
  const { properties } = schema as { properties?: Record<string, TSchema> };
  const fields = { ...properties, prevent_overrides: Type.Optional(Type.Boolean()) };
  return Type.Object(fields, { additionalProperties: false });
}

/** The plugins that a workspace saves for its requests. @see docs/reference/plugins.md#defaults-of-a-workspace */
export const savedPlugins = Type.Refine(
  Type.Array(savedPlugin, { maxItems: MAX_SAVED }),
  (list) => findTwice(list) === undefined,
  (list) => `has two entries for the plugin ${JSON.stringify(findTwice(list as SavedPlugin[]))}`,
);

const findTwice = (list: readonly SavedPlugin[]): string | undefined =>
  list.map(({ id }) => id).find((id, at, ids) => ids.indexOf(id) !== at);
