import { type Static, Type } from 'typebox';
import { efforts } from '../kit/effort.ts';
import { dialectReader } from '../kit/read-dialect.ts';
import { type ModelTraits, traitsOf } from './models.ts';

/** How a server, or a model, differs from what `models.ts` knows. */
export const dialectSchema = Type.Object(
  {
    betas: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description: 'Features for the header `anthropic-beta`, besides those that a request needs.',
    }),
    max_tokens: Type.Integer({
      default: 0,
      minimum: 0,
      description:
        'The output limit to send when the request has none; the protocol demands one. 0: by the model’s name.',
    }),
    thinking: Type.Enum(['auto', 'budget', 'adaptive', 'none'], {
      default: 'auto',
      description: 'How the models think: by a budget of tokens, as they see fit, or not. `auto`: by the model’s name.',
    }),
    efforts: Type.Array(Type.Enum([...efforts]), {
      default: [],
      description: 'Levels of `output_config.effort` that the models know. Empty: by the model’s name.',
    }),
    native_search: Type.Boolean({ default: true, description: 'Send the tool `web_search` to run at the provider.' }),
    strict_tools: Type.Boolean({ default: false, description: 'Send `strict` of function tools.' }),
    eager_input: Type.Boolean({
      default: false,
      description: 'Ask for the arguments of calls unbuffered while streaming (`eager_input_streaming`).',
    }),
    cache_control: Type.Boolean({ default: true, description: 'Pass on cache breakpoints.' }),
    one_sampling: Type.Boolean({
      default: true,
      description: 'Leave out `top_p` beside `temperature`: newer models refuse the two together.',
    }),
  },
  { additionalProperties: false },
);

export type Dialect = Static<typeof dialectSchema>;

/** @throws {Error} naming the setting, in words for the operator; it never comes from what a caller sent */
export const readDialect = dialectReader('anthropic-messages', dialectSchema);

/** What a model can do, by its name, unless the operator knows better. */
export function readTraits(dialect: Dialect, model: string): ModelTraits {
  const traits = traitsOf(model);
  return {
    maxTokens: dialect.max_tokens || traits.maxTokens,
    thinking: dialect.thinking === 'auto' ? traits.thinking : dialect.thinking,
    efforts: dialect.efforts.length > 0 ? dialect.efforts : traits.efforts,
  };
}
