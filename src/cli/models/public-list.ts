import { type Static, Type } from 'typebox';
import Schema from 'typebox/schema';
import { knownProviders } from '../../config/known-providers.ts';
import { CommandError, readMessage } from '../terminal.ts';
import { parseJson } from '../../domain/parse-json.ts';

/** The fields of the list that are read. Others are ignored, because the list often gains fields. */
const cost = {
  input: Type.Optional(Type.Number()),
  output: Type.Optional(Type.Number()),
  cache_read: Type.Optional(Type.Number()),
  cache_write: Type.Optional(Type.Number()),
};
const listedModel = Type.Object({
  name: Type.Optional(Type.String()),
  cost: Type.Optional(
    Type.Object({
      ...cost,
      reasoning: Type.Optional(Type.Number()),
      input_audio: Type.Optional(Type.Number()),
      tiers: Type.Optional(
        Type.Array(Type.Object({ ...cost, tier: Type.Object({ type: Type.String(), size: Type.Number() }) })),
      ),
      context_over_200k: Type.Optional(Type.Object(cost)),
    }),
  ),
  limit: Type.Optional(Type.Object({ context: Type.Optional(Type.Number()), output: Type.Optional(Type.Number()) })),
  modalities: Type.Optional(
    Type.Object({ input: Type.Optional(Type.Array(Type.String())), output: Type.Optional(Type.Array(Type.String())) }),
  ),
  reasoning: Type.Optional(Type.Boolean()),
  tool_call: Type.Optional(Type.Boolean()),
  temperature: Type.Optional(Type.Boolean()),
  structured_output: Type.Optional(Type.Boolean()),
  release_date: Type.Optional(Type.String()),
  knowledge: Type.Optional(Type.String()),
  status: Type.Optional(Type.String()),
});
const listedProvider = Type.Object({ models: Type.Record(Type.String(), listedModel) });
export type ListedModel = Static<typeof listedModel>;
export type ListedCost = NonNullable<ListedModel['cost']>;

/** Ids of the list → ids here, where they differ. */
const providerIds: Readonly<Record<string, string>> = {
  'fireworks-ai': 'fireworks',
  'github-models': 'github',
  moonshotai: 'moonshot',
  'novita-ai': 'novita',
  togetherai: 'together',
};
/** Providers that a public list can contain. Local servers have the models that their owner has loaded. */
const listable = new Set(knownProviders.filter(({ env }) => env.length > 0).map(({ id }) => id));

/** Models by their names at the provider, by the id of the provider here. */
export type PublicList = Map<string, Readonly<Record<string, ListedModel>>>;

/** @returns the known providers, by their ids here @throws {CommandError} if one of them has another shape */
export function parseList(text: string): PublicList {
  let tree: unknown;
  try {
    tree = parseJson(text);
  } catch (error) {
    throw new CommandError(`The list is not JSON: ${readMessage(error)}.`, { cause: error });
  }
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) {
    throw new CommandError('The list is not an object of providers.');
  }
  const list: PublicList = new Map();
  for (const [name, value] of Object.entries(tree)) {
    const id = providerIds[name] ?? name;
    if (!listable.has(id)) continue;
    if (!Schema.Check(listedProvider, value)) {
      const [, [first]] = Schema.Errors(listedProvider, value);
      throw new CommandError(
        `The list has an unexpected shape: ${name}${first?.instancePath ?? ''} ${first?.message ?? ''}.`,
      );
    }
    list.set(id, value.models);
  }
  return list;
}
