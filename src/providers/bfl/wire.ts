import { type Static, Type } from 'typebox';
import { createCheck } from '../../schema/create-check.ts';

const maybe = <Schema extends Parameters<typeof Type.Optional>[0]>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

/** The response to the submission has `id` and `polling_url`. The response to a poll has the other fields. */
const answer = Type.Object({
  polling_url: maybe(Type.String()),
  status: maybe(Type.String()),
  result: maybe(Type.Object({ sample: maybe(Type.String()), seed: Type.Optional(Type.Unknown()) })),
  /** In credits. */
  cost: maybe(Type.Number()),
  details: maybe(Type.Record(Type.String(), Type.Unknown())),
});

export type BflResponse = Static<typeof answer>;

const responseCheck = createCheck(answer);

/** @throws {TypeError} if a field that is read has another shape */
export function readResponseBody(body: unknown): BflResponse {
  if (responseCheck(body)) return body;
  throw new TypeError('The body is not a task.');
}
