import { type TProperties, type TSchema, Type } from 'typebox';
import { nullable, oneOf } from '../schema/shapes.ts';

/* Shapes that the bodies of several responses have. */

export const text = Type.String();
export const count = Type.Integer({ minimum: 0 });
export const flag = Type.Boolean();
export const number = Type.Number();
export const textOrNull = nullable(text);
export const numberOrNull = nullable(number);
export const flagOrNull = nullable(flag);
/** ISO 8601, UTC. */
export const time = Type.String({ format: 'date-time' });
export const timeOrNull = nullable(time);
/** Unix seconds. */
export const seconds = Type.Integer();
export const anything = Type.Unknown();
export const openObject = Type.Object({}, { additionalProperties: true });
export const interval = nullable(oneOf('daily', 'weekly', 'monthly'));

export const rateLimitAmounts = {
  requests_per_minute: nullable(Type.Integer()),
  tokens_per_minute: nullable(Type.Integer()),
  concurrent_requests: nullable(Type.Integer()),
};

export const limitUsage = { usage_usd: number, limit_remaining_usd: number, resets_at: timeOrNull };

/** An object in `data`. */
export const inData = (schema: TSchema, more: TProperties = {}) => Type.Object({ data: schema, ...more });

/** A list in `data`, with the number of all rows. */
export const listOf = (schema: TSchema, more: TProperties = {}) =>
  Type.Object({ data: Type.Array(schema), total_count: count, ...more });

/** Problems of a saved object that do not prevent it. */
export const warnings = { warnings: Type.Optional(Type.Array(anything)) };

export const deletion = Type.Object({ deleted: Type.Literal(true) });

/** The response of a route that deletes. */
export const deleted = { description: 'It was deleted.', schema: deletion };
