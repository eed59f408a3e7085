import { Type } from 'typebox';

const turnedOff = 'Absent: no such alert.';

export const alertsSection = Type.Object({
  webhooks: Type.Array(
    Type.Object({
      id: Type.String({
        description: 'Name of the webhook in the log and in test alerts.',
        pattern: '^[a-z0-9][a-z0-9_-]{0,39}$',
        says: 'must be at most 40 lower-case letters, digits, `_` and `-`',
      }),
      url: Type.String({
        description: 'The http or https URL that gets a POST for each alert.',
        pattern: '^https?://[^\\s@/?#]+(?:[/?#]\\S*)?$',
        says: 'must be an http or https URL without credentials',
        secret: true,
      }),
      format: Type.Enum(['json', 'slack'], {
        description:
          '`json`: an object with `type`, `timestamp` and `data`. `slack`: an object with `text`, which Slack, Mattermost and others accept.',
        default: 'json',
      }),
      secret: Type.Optional(
        Type.String({
          description:
            'Signs each POST as [Standard Webhooks](../guides/alerts.md#signatures) do: any text, or `whsec_` and Base64.',
          minLength: 16,
          secret: true,
        }),
      ),
    }),
    { description: 'Receivers of alerts. Empty: alerts are only listed.', default: [], maxItems: 10 },
  ),
  quiet_minutes: Type.Integer({
    description: 'Minutes in which the same alert is sent at most once.',
    default: 60,
    minimum: 1,
    maximum: 10_080,
  }),
  budgets: Type.Array(Type.Integer({ minimum: 1, maximum: 100 }), {
    description:
      'Percentages of a spending limit at which an alert is sent, once for each period of the limit. Empty: none.',
    default: [50, 80, 100],
    maxItems: 10,
  }),
  providers: Type.Boolean({ description: 'Whether an outage of an endpoint is an alert, and its end.', default: true }),
  error_percent: Type.Optional(
    Type.Integer({
      description: `Percentage of failed requests (status 500 and more) of the last 15 to 30 minutes. ${turnedOff}`,
      minimum: 1,
      maximum: 100,
    }),
  ),
  error_requests: Type.Integer({
    description: 'Requests of that time below which the percentage is ignored.',
    default: 20,
    minimum: 1,
  }),
  spend_factor: Type.Optional(
    Type.Number({
      description: `How many times the mean hour of the day before the spending of the last hour must exceed. ${turnedOff}`,
      minimum: 1,
    }),
  ),
  spend_usd: Type.Number({
    description: 'USD per hour below which the spending is never unusual.',
    default: 10,
    minimum: 0,
  }),
  unpriced: Type.Boolean({ description: 'Whether a response of a model without a price is an alert.', default: true }),
  key_expiry_days: Type.Integer({
    description: 'Days before the expiry of a key at which an alert is sent. 0: none.',
    default: 7,
    minimum: 0,
    maximum: 365,
  }),
});
