import { type Static, Type } from 'typebox';
import { efforts } from '../../domain/items.ts';
import { dialectReader } from '../kit/read-dialect.ts';
import { facets } from '../rules/facets.ts';
import { type ModelTraits, traitsOf } from './models.ts';

/** The differences of a server or a model from the traits in `models.ts`. */
export const dialectSchema = Type.Object(
  {
    betas: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description: 'Features for the header `anthropic-beta`, in addition to those that a request needs.',
    }),
    forward_betas: Type.Boolean({
      default: true,
      description: 'Send the features that a client names in the header `anthropic-beta`.',
    }),
    max_tokens: Type.Integer({
      default: 0,
      minimum: 0,
      description:
        'Output limit to send if the request has none, because the protocol requires one. 0: by the model’s name.',
    }),
    thinking: Type.Enum(['auto', 'budget', 'adaptive', 'enabled', 'none'], {
      default: 'auto',
      description:
        'How the models think: with a token budget, adaptively, whenever it is enabled without a budget, or not at all. `auto`: by the model’s name.',
    }),
    thinking_off: Type.Enum(['disabled', 'between_tools', 'never'], {
      default: 'disabled',
      description:
        'How thinking is turned off: with this `thinking.type`. `never`: it cannot be turned off. Then the gateway asks for the lowest effort.',
    }),
    efforts: Type.Array(Type.Enum([...efforts]), {
      default: [],
      description: 'Supported levels of `output_config.effort`. Empty: by the model’s name.',
    }),
    thoughts: Type.Enum(['auto', 'summary', 'raw'], {
      default: 'auto',
      description: 'Kind of the text of the thinking: a summary or raw reasoning. `auto`: by the model’s name.',
    }),
    gateway: Type.Boolean({
      default: false,
      description:
        'The server is another Headgate: send reasoning of all formats, sealed, and every effort and budget, and no `max_tokens` unless the request has one.',
    }),
    native_search: Type.Boolean({
      default: true,
      description: 'Send the tool `web_search`, which runs at the provider.',
    }),
    strict_tools: Type.Boolean({ default: false, description: 'Send `strict` of function tools.' }),
    eager_input: Type.Boolean({
      default: false,
      description: 'Request unbuffered arguments of calls while streaming (`eager_input_streaming`).',
    }),
    cache_control: Type.Boolean({ default: true, description: 'Send cache breakpoints.' }),
    one_sampling: Type.Boolean({
      default: true,
      description: 'Drop `top_p` if there is a `temperature`. Newer models reject the two together.',
    }),
    account_identity: Type.Boolean({
      default: true,
      description: 'Send a hash of the workspace as `metadata.user_id` if the request names no end user.',
    }),
    ...facets,
  },
  { additionalProperties: false },
);

export type Dialect = Static<typeof dialectSchema>;

/** @throws {Error} that names the invalid setting, for the operator */
export const readDialect = dialectReader('anthropic-messages', dialectSchema);

/** The traits of a model, and how its thinking is turned off. */
export interface EndpointTraits extends ModelTraits {
  off: Dialect['thinking_off'];
}

/** Returns the traits of a model by its name. The operator's settings take precedence. */
export function readTraits(dialect: Dialect, model: string): EndpointTraits {
  const traits = traitsOf(model);
  const { gateway: isGateway } = dialect; // it has models of every provider, and knows their limits
  const thinking = isGateway ? 'adaptive' : traits.thinking;
  return {
    maxTokens: dialect.max_tokens || (isGateway ? undefined : traits.maxTokens),
    thinking: dialect.thinking === 'auto' ? thinking : dialect.thinking,
    takesBudget: isGateway || traits.takesBudget === true,
    off: isGateway ? 'disabled' : dialect.thinking_off,
    efforts: dialect.efforts.length > 0 ? dialect.efforts : isGateway ? efforts : traits.efforts,
    summarizes: dialect.thoughts === 'auto' ? traits.summarizes : dialect.thoughts === 'summary',
  };
}
