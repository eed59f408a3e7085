import { Type } from 'typebox';

const closed = { additionalProperties: false };

/** `parameters` of `router:tool_search`. */
export const toolSearchParameters = Type.Object(
  { max_results: Type.Optional(Type.Integer({ documented: { minimum: 1 } })) },
  closed,
);

/** The arguments of its calls. */
export const toolSearchArguments = Type.Object(
  {
    query: Type.String({
      description:
        'A regular expression. It is searched for, without regard to case, in the names and descriptions of tools and ' +
        'of their arguments.',
      examples: ['.'],
    }),
    max_results: Type.Optional(Type.Integer({ description: 'Maximum number of tools.' })),
  },
  closed,
);
