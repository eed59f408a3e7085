import { type Static, Type } from 'typebox';
import { dialectReader } from '../kit/read-dialect.ts';

export const levels = ['minimal', 'low', 'medium', 'high'] as const;

/** How a server, or a model, differs from what `models.ts` knows. */
export const dialectSchema = Type.Object(
  {
    thinking: Type.Enum(['auto', 'budget', 'level', 'none'], {
      default: 'auto',
      description:
        'How reasoning is asked for: by a budget of tokens, by a level, or not. `auto`: by the model’s name.',
    }),
    levels: Type.Array(Type.Enum([...levels]), {
      default: [],
      description: 'Levels of `thinkingLevel` that the models know. Empty: by the model’s name.',
    }),
    schema: Type.Enum(['json', 'openapi'], {
      default: 'json',
      description: 'How schemas are sent: as JSON Schema, or in the subset of OpenAPI that older models take.',
    }),
    call_ids: Type.Boolean({ default: true, description: 'Send the ids of calls along with calls and results.' }),
    service_tier: Type.Boolean({ default: true, description: 'Send `service_tier`; Vertex AI knows no such field.' }),
    native_search: Type.Boolean({ default: true, description: 'Send the tool `web_search` to run at the provider.' }),
  },
  { additionalProperties: false },
);

export type Dialect = Static<typeof dialectSchema>;

/** @throws {Error} naming the setting, in words for the operator; it never comes from what a caller sent */
export const readDialect = dialectReader('gemini', dialectSchema);
