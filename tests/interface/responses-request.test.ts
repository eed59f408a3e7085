import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkRequest } from '../../src/requests/responses/check-request.ts';
import { arbitraryOf, type JsonSchema } from './arbitrary.ts';
import { definitions, type Fields, mend, namesOf } from './shapes.ts';

const runs = { numRuns: 60 };

/** Checks that every generated value of a shape passes after its repair, in the body that `place` puts it in. */
function passes(shape: JsonSchema, place: (value: unknown) => Fields): void {
  fc.assert(
    fc.property(arbitraryOf(shape, definitions), (value) => {
      const body: Fields = { model: 'acme/mock', input: 'hi', ...place(value) };
      mend(body);
      expect(checkRequest(body)).toEqual([]);
    }),
    runs,
  );
}

const user = { role: 'user', content: 'hi' };

describe('the strict shapes of POST /responses', () => {
  it.each(namesOf('InputItem'))('%s passes in input', (name) => {
    passes(definitions[name]!, (item) => ({ input: [user, item] }));
  });

  it.each(namesOf('OutputItem'))('%s passes when it is replayed', (name) => {
    passes(definitions[name]!, (item) => ({ input: [user, item] }));
  });

  it.each(namesOf('Tool'))('%s passes in tools', (name) => {
    passes(definitions[name]!, (tool) => ({ tools: [tool] }));
  });

  it.each(namesOf('Plugin'))('%s passes in plugins', (name) => {
    passes(definitions[name]!, (plugin) => ({ plugins: [plugin] }));
  });

  it.each(namesOf('InputContentPart'))('%s passes in a message', (name) => {
    passes(definitions[name]!, (part) => ({ input: [{ role: 'user', content: [part] }] }));
  });

  /** Fields with rules beyond their shape, and the values that the shape leaves open. */
  const narrowed: Record<string, JsonSchema> = {
    input: { type: 'string', minLength: 1 },
    max_output_tokens: { type: ['integer', 'null'], minimum: 1 },
    max_tool_calls: { type: ['integer', 'null'], minimum: 0 },
    model: { type: 'string', minLength: 1 },
    models: { type: 'array', items: { type: 'string', minLength: 1 } },
    previous_response_id: { type: 'null' },
  };
  const fields = definitions.Request!.properties!;

  it.each(Object.keys(fields))('%s passes at the top', (field) => {
    passes(narrowed[field] ?? fields[field]!, (value) => ({ [field]: value }));
  });
});
