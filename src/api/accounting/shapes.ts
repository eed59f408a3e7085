import { Type } from 'typebox';
import { named } from '../../openapi/schema-writer.ts';
import { anything, inData, listOf, number, text, textOrNull, time } from '../../openapi/shapes.ts';

export const creditTotals = inData(Type.Object({ total_credits: number, total_usage: number }));

export const activity = inData(
  Type.Array(
    named(
      'Activity',
      Type.Object({
        date: text,
        model: text,
        model_permaslug: text,
        endpoint_id: text,
        provider_name: text,
        usage: number,
        byok_usage_inference: number,
        requests: number,
        prompt_tokens: number,
        completion_tokens: number,
        reasoning_tokens: number,
        workspace_id: Type.Optional(text),
        api_key_hash: Type.Optional(text),
        user_id: Type.Optional(textOrNull),
        external_user: Type.Optional(textOrNull),
      }),
    ),
  ),
);

export const auditList = listOf(
  named(
    'AuditEntry',
    Type.Object({
      id: text,
      at: time,
      actor_key_hash: textOrNull,
      action: text,
      object_kind: text,
      object_id: text,
      workspace_id: textOrNull,
      changes: anything,
    }),
  ),
);
