import { type Static, Type } from 'typebox';
import { dialectReader } from '../kit/read-dialect.ts';
import { facets } from '../rules/facets.ts';

export const levels = ['minimal', 'low', 'medium', 'high'] as const;

/** The differences of a server or a model from the traits in `models.ts`. */
export const dialectSchema = Type.Object(
  {
    thinking: Type.Enum(['auto', 'budget', 'level', 'none'], {
      default: 'auto',
      description:
        'How reasoning is requested: with a token budget, with a level, or not at all. `auto`: by the model’s name.',
    }),
    levels: Type.Array(Type.Enum([...levels]), {
      default: [],
      description: 'Supported levels of `thinkingLevel`. Empty: by the model’s name.',
    }),
    schema: Type.Enum(['json', 'openapi'], {
      default: 'json',
      description: 'Format of schemas: JSON Schema, or the subset of OpenAPI that older models accept.',
    }),
    call_ids: Type.Boolean({ default: true, description: 'Send the ids of calls and results.' }),
    service_tier: Type.Boolean({ default: true, description: 'Send `service_tier`. Vertex AI has no such field.' }),
    tier_header: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      default: null,
      description: 'Header for the service tier, instead of the field. Null: there is none.',
    }),
    native_search: Type.Boolean({
      default: true,
      description: 'Send the tool `web_search`, which runs at the provider.',
    }),
    ...facets,
  },
  { additionalProperties: false },
);

export type Dialect = Static<typeof dialectSchema>;

/** @throws {Error} that names the invalid setting, for the operator */
export const readDialect = dialectReader('gemini', dialectSchema);
