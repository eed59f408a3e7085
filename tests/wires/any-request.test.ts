import fc from 'fast-check';
import { describe, it } from 'vitest';
import { readRequest } from '../../src/api/responses/request.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import { wires } from '../../src/providers/index.ts';
import { arbitraryOf, type JsonSchema } from '../interface/arbitrary.ts';
import { definitions, type Fields, mend, namesOf } from '../interface/shapes.ts';
import { columns } from './matrix.ts';

const user = { role: 'user', content: 'hi' };

/** Whatever passes the checks is written, or refused as a request that this wire cannot carry; never a failure of ours. */
function isWrittenOrRefused(wireId: string, shape: JsonSchema, place: (value: unknown) => Fields): void {
  const wire = wires.get(wireId)!;
  const target = {
    endpoint: 'm at P',
    upstreamModel: columns[wireId]!,
    stream: true,
    dialect: {},
    endUser: 'hg_1',
  };
  fc.assert(
    fc.property(arbitraryOf(shape, definitions), (value) => {
      const body: Fields = { model: 'acme/mock', input: 'hi', ...place(value) };
      mend(body);
      const { request } = readRequest(body, {});
      try {
        JSON.stringify(wire.writeRequest(request, target).body);
      } catch (error) {
        if (!(error instanceof GatewayError) || error.kind !== 'invalid_request') throw error;
      }
    }),
    { numRuns: 40 },
  );
}

describe.each(Object.keys(columns))('%s writes or refuses', (wire) => {
  it.each([...new Set([...namesOf('InputItem'), ...namesOf('OutputItem')])])('the item %s', (name) => {
    isWrittenOrRefused(wire, definitions[name]!, (item) => ({ input: [user, item] }));
  });

  it.each(namesOf('Tool'))('the tool %s', (name) => {
    isWrittenOrRefused(wire, definitions[name]!, (tool) => ({ tools: [tool] }));
  });

  it.each(namesOf('InputContentPart'))('the part %s', (name) => {
    isWrittenOrRefused(wire, definitions[name]!, (part) => ({ input: [{ role: 'user', content: [part] }] }));
  });
});
