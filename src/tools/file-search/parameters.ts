import { Type } from 'typebox';
import type { FileField } from '../../domain/file-search.ts';

const scalar = Type.Union([Type.String(), Type.Number()]);

/** The fields that a condition can name → the type of their values. */
export const fileFields: Readonly<Record<FileField, 'string' | 'number'>> = {
  file_id: 'string',
  filename: 'string',
  mime_type: 'string',
  purpose: 'string',
  bytes: 'number',
  created_at: 'number',
};

/** A condition for files. `filters` has conditions of the same form; `read-filter.ts` reads them. */
export const fileFilter = Type.Object(
  {
    type: Type.Enum(['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'and', 'or']),
    key: Type.Optional(Type.String({ documented: { enum: Object.keys(fileFields) } })),
    value: Type.Optional(Type.Union([scalar, Type.Boolean(), Type.Array(scalar, { maxItems: 100 })])),
    filters: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 50 })),
  },
  { additionalProperties: false },
);

/** `parameters` of `router:file_search`. */
export const fileSearchParameters = Type.Object(
  {
    file_ids: Type.Optional(Type.Array(Type.String(), { maxItems: 100 })),
    folders: Type.Optional(Type.Array(Type.String({ documented: { pattern: '^[^/].*/$' } }), { maxItems: 50 })),
    filters: Type.Optional(fileFilter),
    max_num_results: Type.Optional(Type.Integer({ documented: { minimum: 1, maximum: 50 } })),
    ranking_options: Type.Optional(
      Type.Object(
        {
          ranker: Type.Optional(Type.Enum(['auto', 'default-2024-11-15'])),
          score_threshold: Type.Optional(Type.Number({ documented: { minimum: 0, maximum: 1 } })),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

/** The arguments of its calls. */
export const fileSearchArguments = Type.Object(
  {
    queries: Type.Array(Type.String({ minLength: 1, maxLength: 500 }), {
      description:
        'What to look for: one to five searches, each of a few words that the text probably contains. Other words for the same thing, in the language of the files, find more.',
      minItems: 1,
      maxItems: 5,
      examples: [['refund period', 'return policy days']],
    }),
  },
  { additionalProperties: false },
);
