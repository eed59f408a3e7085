import { Type } from 'typebox';
import { milliseconds, patterns, textField } from './fields.ts';

const fusionPanel = (description: string) =>
  Type.Optional(
    Type.Object({
      models: Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), { description, minItems: 1, maxItems: 8 }),
      model: Type.Optional(
        textField(
          'The model that compares the responses, and writes the response of a router slug. Absent: the first one.',
        ),
      ),
    }),
  );

export const routersSection = Type.Object({
  latest: Type.Array(
    Type.Object({
      alias: Type.String({
        description: '`~author/family-latest`.',
        pattern: '^~[^/\\s]+/\\S+$',
        says: 'must be `~author/family-latest`',
      }),
      pattern: textField('Models of the family: `acme/one-*`.'),
      exclude: patterns('Patterns to exclude from it.'),
    }),
    { description: 'Aliases of the newest model of a family, in addition to the built-in ones.', default: [] },
  ),
  auto: Type.Object({
    rankings: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.String({ minLength: 1 })), {
        description:
          'Models by task (`code:debugging`, `translation`, …; `default` for the others), best first. Used if the ledger has no ranking.',
      }),
    ),
    allowed_models: patterns('Patterns of models that may be chosen. Used if the request has none.'),
    excluded_models: patterns('Patterns of models that must not be chosen.'),
    cost_tier: Type.Optional(
      Type.Enum(['low', 'medium', 'high', 'xhigh', 'max'], {
        description: 'Cost band. Used if the request has none.',
      }),
    ),
    cost_quality_tradeoff: Type.Optional(
      Type.Integer({ description: '0 (best) to 10 (cheapest). `cost_tier` wins.', minimum: 0, maximum: 10 }),
    ),
    prevent_overrides: Type.Boolean({
      description: 'Whether these settings win over those of a request.',
      default: false,
    }),
    classifier: Type.Optional(
      Type.Object({
        model: textField(
          'A small, fast model that finds the task of a conversation. Absent: its words determine the task.',
        ),
        timeout_ms: milliseconds('Timeout of the classifier. After it, the words determine the task.', 2000),
      }),
    ),
  }),
  pareto_code: Type.Object({
    models: Type.Optional(
      Type.Array(
        Type.Object({
          slug: textField('A coding model.'),
          coding_score: Type.Number({ description: 'Percentile among coding models.', minimum: 0, maximum: 100 }),
        }),
        { description: 'Coding models and their scores. Absent: those of the catalog.' },
      ),
    ),
    min_coding_score: Type.Optional(
      Type.Number({ description: '0 to 1. Used if the request has none.', minimum: 0, maximum: 1 }),
    ),
    max_price: Type.Optional(
      Type.Number({ description: 'USD per million input tokens. Used if the request has none.', minimum: 0 }),
    ),
    price_source: Type.Optional(
      Type.Enum(['prompt', 'weighted_avg'], {
        description: '`prompt`: list price. `weighted_avg`: average price that this gateway has paid.',
      }),
    ),
  }),
  bodybuilder: Type.Object({
    model: Type.Optional(
      textField('Model that writes request bodies. Absent: the cheapest one that supports JSON schemas.'),
    ),
  }),
  fusion: Type.Object({
    panels: Type.Object({
      quality: fusionPanel('The panel of requests that name no preset.'),
      general_high: fusionPanel('The panel of the preset `general-high`.'),
      general_budget: fusionPanel('The panel of the preset `general-budget`.'),
      general_fast: fusionPanel('The panel of the preset `general-fast` and of `router/fusion-flash`.'),
    }),
    model_timeout_ms: milliseconds(
      'Time limit of each model of a panel, and of the analysis. A model that exceeds it counts as failed.',
      180_000,
    ),
  }),
});

export const catalogSection = Type.Object({
  builtin: Type.Boolean({
    description: 'Whether the built-in models, prices and limits apply to the configured providers.',
    default: true,
  }),
  overrides: Type.Optional(textField('JSON or YAML file of the same shape as the built-in catalog. Overrides it.')),
  auto_discover: Type.Boolean({
    description: 'Whether providers with a key in the environment, and model servers on this machine, are detected.',
    default: true,
  }),
  simulator: Type.Boolean({
    description:
      'Whether the simulator serves `simulator/echo` and its other models. If there are other providers, no list contains it and no router chooses it.',
    default: true,
  }),
});
