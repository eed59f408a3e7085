import { Type } from 'typebox';
import { named } from '../../openapi/schema-writer.ts';
import {
  flag,
  inData,
  interval,
  number,
  numberOrNull,
  rateLimitAmounts,
  text,
  textOrNull,
  time,
  timeOrNull,
} from '../../openapi/shapes.ts';

const keyAmounts = {
  limit_remaining: numberOrNull,
  usage: number,
  usage_daily: number,
  usage_weekly: number,
  usage_monthly: number,
  byok_usage: number,
  byok_usage_daily: number,
  byok_usage_weekly: number,
  byok_usage_monthly: number,
};

/** @see docs/reference/management.md#keys */
const key = named(
  'Key',
  Type.Object({
    hash: text,
    id: number,
    label: text,
    name: text,
    workspace_id: text,
    disabled: flag,
    limit: numberOrNull,
    limit_reset: interval,
    include_byok_in_limit: flag,
    ...rateLimitAmounts,
    expires_at: timeOrNull,
    creator_user_id: textOrNull,
    external_user: textOrNull,
    ...keyAmounts,
    created_at: time,
    updated_at: timeOrNull,
  }),
);

export const oneKey = inData(key);
export const keyList = inData(Type.Array(key));
export const createdKey = inData(key, { key: Type.String({ description: 'The key. It is shown only once.' }) });
export const rotatedKey = inData(key, { key: text, previous: key });

export const currentKey = inData(
  named(
    'CurrentKey',
    Type.Object({
      label: text,
      limit: numberOrNull,
      limit_reset: interval,
      include_byok_in_limit: flag,
      creator_user_id: textOrNull,
      expires_at: timeOrNull,
      ...keyAmounts,
      ...rateLimitAmounts,
      is_free_tier: flag,
      is_management_key: flag,
      is_provisioning_key: flag,
      organization_id: Type.Null(),
      workspace_id: textOrNull,
      rate_limit: Type.Object({ requests: number, interval: text, note: text }),
      allowed_data_regions: Type.Array(text),
      free_model_daily_requests: Type.Object({ used: number, limit: number, remaining: number }),
    }),
  ),
);
