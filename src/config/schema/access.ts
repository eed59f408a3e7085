// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
import { Type } from 'typebox';
import { MAX_RATE_LIMIT } from '../../domain/rate-limits.ts';
import { TAG_KEY, TAG_VALUE } from '../../domain/tags.ts';
import { requiredPrice, textField } from './fields.ts';

const limitFields = {
  requests_per_minute: Type.Integer({
    description: 'Requests within 60 seconds. 0: no limit.',
    default: 0,
    minimum: 0,
  }),
  tokens_per_minute: Type.Integer({
    description:
      'Input and output tokens within 60 seconds. [Estimates](../guides/limits.md#rates) are reserved for requests in flight. 0: no limit.',
    default: 0,
    minimum: 0,
  }),
  concurrent_requests: Type.Integer({
    description: 'Requests in flight at a time, streamed or buffered. 0: no limit.',
    default: 0,
    minimum: 0,
  }),
};

/** Rate limits of one key, member or workspace. */
const ownLimit = (description: string) =>
  Type.Optional(
    Type.Integer({
      description: `${description} 0: no limit. Absent: as set with the management API.`,
      minimum: 0,
      maximum: MAX_RATE_LIMIT,
    }),
  );

const ownLimitFields = {
  requests_per_minute: ownLimit('Requests within 60 seconds.'),
  tokens_per_minute: ownLimit('Input and output tokens within 60 seconds.'),
  concurrent_requests: ownLimit('Requests in flight at a time, streamed or buffered.'),
};

const bootstrapKey = Type.Object({
  key: Type.String({
    description: 'The key itself, 8 or more characters. Write `${NAME}`.',
    minLength: 8,
    pattern: '^[!-~]+$',
    says: 'must be printable ASCII without spaces',
    secret: true,
  }),
  name: textField('Display name.'),
  workspace: Type.Optional(textField('Name or id of its workspace. Required except for management keys.')),
  member: Type.Optional(textField('Id of the member who owns it.')),
  acts_as: Type.Optional(
    Type.Literal('organization', { description: 'Instead of `member`: acts as the organization.' }),
  ),
  kind: Type.Optional(
    Type.Enum(['inference', 'management'], {
      description: 'A management key administers the gateway and cannot call models. Absent: `inference`.',
    }),
  ),
  disabled: Type.Optional(Type.Boolean({ description: 'Whether the key is rejected.' })),
  credit_usd: Type.Optional(
    Type.Number({
      description: 'USD that it may spend in total. Absent: as set with the management API.',
      minimum: 0,
      maximum: 9_000_000,
    }),
  ),
  ...ownLimitFields,
});

export const bootstrapSection = Type.Object({
  workspaces: Type.Array(
    Type.Object({
      id: Type.Optional(textField('Stable id, preferably a UUID. Absent: created at the first start.')),
      name: textField('Unique name.'),
      default_plugins: Type.Optional(
        Type.Array(Type.Record(Type.String(), Type.Unknown()), {
          description:
            'Plugins for all its requests, as in a request, and `prevent_overrides: true` for final ones. Absent: as set with the management API.',
        }),
      ),
      ...ownLimitFields,
    }),
    { description: 'Workspaces to create or update.', default: [] },
  ),
  members: Type.Array(
    Type.Object({
      id: textField('Unique id of the member.'),
      workspaces: Type.Array(Type.String({ minLength: 1 }), { description: 'Names or ids.', default: [] }),
      ...ownLimitFields,
    }),
    { description: 'Members to create or update. Each is in exactly these workspaces.', default: [] },
  ),
  keys: Type.Array(bootstrapKey, { description: 'Keys to create or update.', default: [] }),
  guardrails: Type.Array(
    Type.Object({
      name: textField('Name, unique in its workspace.'),
      workspace: textField('Name or id of its workspace.'),
      default: Type.Boolean({
        description: 'Whether it is the default guardrail of its workspace, which applies to all its keys.',
        default: false,
      }),
      keys: Type.Optional(
        Type.Array(Type.String({ minLength: 1 }), {
          description: 'Names of keys in `bootstrap.keys`: exactly these have it. Absent: as assigned otherwise.',
        }),
      ),
      members: Type.Optional(
        Type.Array(Type.String({ minLength: 1 }), {
          description: 'Ids of members: exactly these have it. Absent: as assigned otherwise.',
        }),
      ),
      rules: Type.Record(Type.String(), Type.Unknown(), {
        description:
          'Its rules, with the names of the [management API](management.md#guardrails): `allowed_models`, `content_filters`, … It has no others.',
      }),
    }),
    { description: 'Guardrails to create or update.', default: [] },
  ),
});

export const limitsSection = Type.Object({
  ...limitFields,
  member: Type.Object(limitFields),
  workspace: Type.Object(limitFields),
  models: Type.Array(
    Type.Object({
      model: textField('Slug, with at most one `*`. The first match applies.'),
      ...limitFields,
    }),
    {
      description:
        'Limits of a model over all callers. They apply whether the request names the model, lists it in `models`, or a router chooses it.',
      default: [],
    },
  ),
  unpriced_models: Type.Union(
    [
      Type.Enum(['allow', 'reject'], {
        says: 'must be `allow`, `reject`, or the prices `{ prompt, completion }` in USD per token',
      }),
      Type.Object(
        { prompt: requiredPrice('USD per input token.'), completion: requiredPrice('USD per output token.') },
        { additionalProperties: false },
      ),
    ],
    {
      description:
        'Models without a known price under a spending limit. `allow`: they pass it, because their cost is unknown. `reject`: a request under a limit does not reach them, and gets a 402 if no other endpoint is left. `{ prompt, completion }`: the price of every model without one, in USD per token.',
      default: 'allow',
    },
  ),
});

const budgetFields = (whose: string) => {
  const usd = (window: string) =>
    Type.Optional(
      Type.Number({ description: `USD that ${whose} may spend ${window}.`, exclusiveMinimum: 0, maximum: 9_000_000 }),
    );
  return {
    daily: usd('per day (UTC)'),
    weekly: usd('per week, from Monday'),
    monthly: usd('per month'),
    lifetime: usd('in total'),
    include_byok: Type.Boolean({ description: 'Whether BYOK calls count.', default: false }),
  };
};

export const budgetsSection = Type.Object({
  organization: Type.Object(budgetFields('all workspaces together')),
  member: Type.Object(budgetFields('each member, in all workspaces,')),
  tags: Type.Array(
    Type.Object({
      tag: Type.String({
        description: 'A key of `tags` and a value, such as `team:search`.',
        pattern: `${TAG_KEY.slice(0, -1)}:${TAG_VALUE.slice(1)}`,
        says: 'must be a key of `tags` and a value, such as `team:search`',
      }),
      ...budgetFields('all requests with the tag'),
    }),
    {
      description: 'Limits of all requests with a [tag](../guides/observability.md#tags).',
      default: [],
      maxItems: 1000,
    },
  ),
});
