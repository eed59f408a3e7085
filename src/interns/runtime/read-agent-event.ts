import { Type } from 'typebox';
import { createCheck } from '../../schema/create-check.ts';
import type { AgentEvent } from '../agent/events.ts';
import { parseJson } from '../../domain/parse-json.ts';

const count = Type.Number({ minimum: 0 });
const usage = Type.Object({ input_tokens: count, output_tokens: count, cached_tokens: count, cost: count });
const id = Type.String({ minLength: 1, maxLength: 128 });
const permissionOption = Type.Union(
  (['allow_once', 'allow_always', 'reject_once', 'reject_always'] as const).map((option) => Type.Literal(option)),
);
const field = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 256 }),
  type: Type.Union([Type.Literal('string'), Type.Literal('number'), Type.Literal('boolean')]),
  required: Type.Boolean(),
  options: Type.Optional(Type.Array(Type.String(), { maxItems: 100 })),
});
const interaction = Type.Union([
  Type.Object({
    id,
    kind: Type.Literal('permission'),
    operation: Type.Union([Type.String(), Type.Null()]),
    options: Type.Array(permissionOption, { minItems: 1, maxItems: 4 }),
  }),
  Type.Object({
    id,
    kind: Type.Literal('elicitation'),
    message: Type.String(),
    fields: Type.Array(field, { maxItems: 100 }),
  }),
]);

/** An agent has full control of its process, so each event is checked. Further fields have no effect. */
const schemas: Record<AgentEvent['type'], ReturnType<typeof createCheck>> = {
  text: createCheck(Type.Object({ text: Type.String() })),
  reasoning: createCheck(Type.Object({ text: Type.String() })),
  model: createCheck(Type.Object({ model: Type.String({ minLength: 1, maxLength: 256 }) })),
  interaction: createCheck(Type.Object({ interaction })),
  end: createCheck(
    Type.Union([
      Type.Object({
        status: Type.Union([Type.Literal('completed'), Type.Literal('cancelled')]),
        usage: Type.Optional(usage),
      }),
      Type.Object({
        status: Type.Literal('failed'),
        error: Type.Object({ message: Type.String(), retryable: Type.Optional(Type.Boolean()) }),
        usage: Type.Optional(usage),
      }),
    ]),
  ),
};

/**
 * Reads a line of an agent.
 *
 * @returns undefined for a type of a newer contract
 * @throws {Error} if the line is not JSON, or the event has a wrong shape
 * @see docs/reference/intern-runtimes.md#events
 */
export function readAgentEvent(line: string): AgentEvent | undefined {
  const event = parseJson(line) as { type?: unknown } | null;
  const type = event?.type;
  if (typeof type !== 'string') throw new Error('an event has no type');
  if (!Object.hasOwn(schemas, type)) return undefined;
  if (schemas[type as AgentEvent['type']](event)) return event as AgentEvent; // its schema was checked
  throw new Error(`an event of the type ${type} has a wrong shape`);
}
