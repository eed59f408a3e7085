import { Type } from 'typebox';
import { routingStrategies } from '../../domain/routing-strategy.ts';
import { milliseconds, textField } from './fields.ts';

export const routingSection = Type.Object({
  strategy: Type.Enum([...routingStrategies], {
    description:
      'Order of a model’s endpoints if neither the request nor its workspace sets one. `price`: drawn by price. `weighted`: drawn by `weight`. `latency`: drawn by the time to the first output. `least-busy`: fewest attempts in flight first.',
    default: 'price',
  }),
  models: Type.Array(
    Type.Object({
      model: textField('Slug, with any number of `*`. The first match applies.'),
      strategy: Type.Enum([...routingStrategies], { description: 'Replaces `routing.strategy`.' }),
    }),
    { description: 'Strategies of single models.', default: [] },
  ),
  max_attempts: Type.Integer({
    description: 'Maximum attempts per request.',
    minimum: 1,
    maximum: 100,
    default: 12,
  }),
  outage_ms: milliseconds(
    'How long an endpoint in an outage is tried last. The time starts over with each failure.',
    30_000,
    100,
    { restart: true },
  ),
  sticky_ms: milliseconds('How long a session keeps its endpoint after each success. 0: never.', 600_000, 0),
  learn_rules: Type.Boolean({
    description:
      'Whether a request is repeated once without a parameter that a provider refuses by name. The endpoint gets it no more for a day.',
    default: true,
  }),
  seed: Type.Optional(Type.Integer({ description: 'Makes random draws repeatable, for tests.', minimum: 0 })),
});
