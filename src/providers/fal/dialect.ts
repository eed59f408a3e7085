import { type Static, Type } from 'typebox';
import { dialectReader } from '../read-dialect.ts';

const dialectSchema = Type.Object(
  {
    poll_ms: Type.Integer({
      default: 500,
      minimum: 50,
      maximum: 60_000,
      description: 'Milliseconds between two questions how far the queue is.',
    }),
  },
  { additionalProperties: false },
);

export type Dialect = Static<typeof dialectSchema>;

/** @throws {Error} naming the setting, in words for the operator; it never comes from what a caller sent */
export const readDialect = dialectReader('fal', dialectSchema);
