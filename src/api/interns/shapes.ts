import { Type } from 'typebox';
import { internStatuses } from '../../domain/intern.ts';
import { nullable, oneOf } from '../../schema/shapes.ts';
import { named } from '../../openapi/schema-writer.ts';
import { anything, flag, text, textOrNull, time } from '../../openapi/shapes.ts';

/** @see docs/reference/interns.md#the-intern-object */
export const intern = named(
  'Intern',
  Type.Object({
    id: text,
    name: text,
    description: textOrNull,
    instructions: textOrNull,
    model: textOrNull,
    status: oneOf(...internStatuses),
    hostname: textOrNull,
    workspaceId: text,
    vault_id: textOrNull,
    attached_vault_id: textOrNull,
    progress: nullable(
      Type.Object({
        stepLabel: text,
        stepNumber: Type.Integer({ minimum: 1 }),
        totalSteps: Type.Integer({ minimum: 1 }),
      }),
    ),
    lastFailureMessage: textOrNull,
    createdAt: time,
    updatedAt: time,
  }),
);

export const internList = Type.Object({ data: Type.Array(intern), has_more: flag, next_cursor: Type.Optional(text) });

/** @see docs/reference/interns.md#errors */
export const internError = named(
  'InternError',
  Type.Object({
    error: Type.Object({
      code: Type.Union([text, Type.Integer()]),
      message: text,
      type: text,
      param: Type.Union([text, Type.Null()]),
      metadata: Type.Optional(
        Type.Object({ reason: text, retryable: flag, issues: Type.Optional(Type.Array(anything)) }),
      ),
    }),
  }),
);
