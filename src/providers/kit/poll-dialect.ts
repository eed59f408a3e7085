import { type Static, Type } from 'typebox';
import { dialectReader } from './read-dialect.ts';

const pollSchema = Type.Object(
  {
    poll_ms: Type.Integer({
      default: 500,
      minimum: 50,
      maximum: 60_000,
      description: 'Milliseconds between two polls for the image.',
    }),
  },
  { additionalProperties: false },
);

/** The settings of a wire that the gateway polls for results. */
export type PollDialect = Static<typeof pollSchema>;

/** @returns a reader that throws an `Error` naming the setting, for the operator */
export const pollDialectReader = (wireId: string) => dialectReader(wireId, pollSchema);
