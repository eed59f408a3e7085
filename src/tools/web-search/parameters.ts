import { Type } from 'typebox';
import { searchContextSize, searchEngine, searchMode, userLocation, xSearch } from './shapes.ts';

const range = (minimum: number, maximum: number) => Type.Optional(Type.Integer({ minimum, maximum }));
const domains = () => Type.Optional(Type.Array(Type.String(), { maxItems: 100 }));

/** Maximum results of one search. */
export const MAX_RESULTS = 25;
/** Maximum characters of the text of one result. */
export const MAX_CHARACTERS = 100_000;

/** `parameters` of `router:web_search`. @see docs/reference/tools.md#routerweb_search */
export const webSearchParameters = Type.Object(
  {
    allowed_domains: domains(),
    excluded_domains: domains(),
    engine: Type.Optional(searchEngine),
    max_characters: range(1, MAX_CHARACTERS),
    max_results: range(1, MAX_RESULTS),
    max_total_results: range(1, 10_000),
    max_uses: range(1, 10_000),
    mode: Type.Optional(searchMode),
    search_context_size: Type.Optional(searchContextSize),
    user_location: Type.Optional(userLocation),
    x_search: Type.Optional(xSearch),
  },
  { additionalProperties: false },
);

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
