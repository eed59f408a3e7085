import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRequest } from '../../src/requests/responses/request.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import { wires } from '../../src/providers/index.ts';
import type { Target } from '../../src/providers/wire.ts';
import { arbitraryOf, type JsonSchema } from '../interface/arbitrary.ts';
import { definitions, type Fields, mend, namesOf } from '../interface/shapes.ts';
import { columns } from './matrix.ts';
import { refused } from './write-to.ts';

const user = { role: 'user', content: 'hi' };

const targetOf = (wireId: string): Target => ({
  endpoint: 'acme/one at Acme',
  upstreamModel: columns[wireId]!,
  stream: true,
  dialect: {},
  endUser: 'hg_1',
});

/** A request that passes the checks is written, or rejected because the wire cannot carry it. It never fails internally. */
function isWrittenOrRefused(wireId: string, shape: JsonSchema, place: (value: unknown) => Fields): void {
  const wire = wires.get(wireId)!;
  fc.assert(
    fc.property(arbitraryOf(shape, definitions), (value) => {
      const body: Fields = { model: 'acme/mock', input: 'hi', ...place(value) };
      mend(body);
      const { request } = readRequest(body, {});
      try {
        JSON.stringify(wire.text!.writeRequest(request, targetOf(wireId)).body);
      } catch (error) {
        if (!(error instanceof GatewayError) || error.kind !== 'invalid_request') throw error;
      }
    }),
    { numRuns: 40 },
  );
}

describe.each(Object.keys(columns))('%s writes or refuses', (wireId) => {
  it.each([...new Set([...namesOf('InputItem'), ...namesOf('OutputItem')])])('the item %s', (name) => {
    isWrittenOrRefused(wireId, definitions[name]!, (item) => ({ input: [user, item] }));
  });

  it.each(namesOf('Tool'))('the tool %s', (name) => {
    isWrittenOrRefused(wireId, definitions[name]!, (tool) => ({ tools: [tool] }));
  });

  it.each(namesOf('InputContentPart'))('the part %s', (name) => {
    isWrittenOrRefused(wireId, definitions[name]!, (part) => ({ input: [{ role: 'user', content: [part] }] }));
  });

  it('a data URL whose media type has megabytes', () => {
    const wire = wires.get(wireId)!;
    const url = `data:image/png${';a'.repeat(4 * 1024 * 1024)};base64,AAAA`;
    const part = { type: 'input_image', image_url: url };
    const { request } = readRequest({ model: 'm', input: [{ role: 'user', content: [part] }] }, {});

    const written = () => wire.text!.writeRequest(request, targetOf(wireId));

    // Wires that pass URLs on do not read them.
    if (wireId.startsWith('openai-') || wireId === 'simulator') expect(JSON.stringify(written().body)).toContain(url);
    else expect(written).toThrow(refused('input[0].content[0](?:.image_url)?'));
  });
});
