import { Type } from 'typebox';
import { strings } from '../../schema/shapes.ts';
import { searchContextSize, searchEngine, searchMode, userLocation, xSearch } from './shapes.ts';

/** The values of each number, from and to. */
export const ranges = {
  max_results: [1, 25],
  max_characters: [1, 100_000],
  max_total_results: [0, 10_000],
  max_uses: [0, 10_000],
} as const satisfies Record<string, readonly [number, number]>;

const integer = (name: keyof typeof ranges) => {
  const [minimum, maximum] = ranges[name];
  return Type.Optional(Type.Integer({ documented: { minimum, maximum } }));
};
const domains = () => Type.Optional(strings());

/**
 * The shape of `parameters` of `router:web_search`. `ranges` and `MAX_DOMAINS` are checked apart from it.
 *
 * @see docs/reference/tools/web-search.md
 */
export const webSearchParameters = Type.Object(
  {
    allowed_domains: domains(),
    excluded_domains: domains(),
    engine: Type.Optional(searchEngine),
    max_characters: integer('max_characters'),
    max_results: integer('max_results'),
    max_total_results: integer('max_total_results'),
    max_uses: integer('max_uses'),
    mode: Type.Optional(searchMode),
    search_context_size: Type.Optional(searchContextSize),
    user_location: Type.Optional(userLocation),
    x_search: Type.Optional(xSearch),
  },
  { additionalProperties: false },
);

/** Maximum number of entries of a domain filter. */
export const MAX_DOMAINS = 100;

/** The arguments of its calls. */
export const webSearchArguments = Type.Object(
  {
    query: Type.String({
      description: 'A query for a search engine: a few words, without a domain.',
      minLength: 1,
      maxLength: 4000,
    }),
  },
  { additionalProperties: false },
);
