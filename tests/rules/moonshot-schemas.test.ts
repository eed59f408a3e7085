import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { strictProviders } from '../../src/testing/strict/index.ts';
import { openStrictLab, type StrictLab } from './strict-lab.ts';

let lab: StrictLab;
beforeAll(async () => {
  lab = await openStrictLab(strictProviders.find(({ id }) => id === 'moonshot')!);
});
afterAll(() => lab.close());

type Schema = Record<string, unknown>;
const object = (properties: Schema, more: Schema = {}): Schema => ({ type: 'object', properties, ...more });
const text = { type: 'string' };
const options = object({ n: { type: 'integer' } }, { description: 'All.' });
const node = object({ next: { $ref: '#/$defs/node', description: 'Next.' } }, { description: 'A node.' });

/** Name, schema of the client, schema at the server. */
const schemas: [string, Schema, Schema][] = [
  [
    'a description beside a reference whose target has another (MoonshotAI/kimi-cli#1903)',
    object({ a: { $ref: '#/$defs/o', description: 'Some.' } }, { $defs: { o: options } }),
    { properties: { a: { type: 'object', description: 'Some.', properties: { n: { type: 'integer' } } } } },
  ],
  [
    'a description beside a reference whose target has none',
    object({ a: { $ref: '#/$defs/o', description: 'Some.' } }, { $defs: { o: text } }),
    { properties: { a: { $ref: '#/$defs/o', description: 'Some.' } }, $defs: { o: text } },
  ],
  [
    'a type and bounds beside a reference (lidge-jun/opencodex#2673)',
    object(
      { a: { $ref: '#/$defs/o', type: 'string', minLength: 1, description: 'Some.' } },
      { $defs: { o: { ...text, maxLength: 9 } } },
    ),
    { properties: { a: { type: 'string', minLength: 1, maxLength: 9, description: 'Some.' } } },
  ],
  [
    'a type beside a reference that says the same',
    object({ a: { $ref: '#/$defs/o', type: 'string' } }, { $defs: { o: text } }),
    { properties: { a: { $ref: '#/$defs/o' } }, $defs: { o: text } },
  ],
  [
    'a schema of itself with a description of its own',
    object({ a: { $ref: '#/$defs/node', description: 'First.' } }, { $defs: { node } }),
    { properties: { a: { description: 'First.', properties: { next: { $ref: '#/$defs/node' } } } } },
  ],
  [
    'a reference to a property (Softeria/ms-365-mcp-server#458)',
    object({ a: text, b: { $ref: '#/properties/a' } }),
    { properties: { b: { $ref: '#/$defs/a' } }, $defs: { a: text } },
  ],
  [
    'an enum without a type (MoonshotAI/kimi-cli#2030)',
    object({
      a: { enum: ['x', 'y'] },
      b: { enum: [1, 2.5] },
      c: { enum: ['x', null] },
      d: { enum: ['x', 1], description: 'D' },
      e: { enum: [true] },
    }),
    {
      properties: {
        a: { type: 'string', enum: ['x', 'y'] },
        b: { type: 'number' },
        c: { type: ['string', 'null'], enum: ['x', null] },
        d: {
          description: 'D',
          anyOf: [
            { type: 'string', enum: ['x'] },
            { type: 'integer', enum: [1] },
          ],
        },
        e: { type: 'boolean' },
      },
    },
  ],
  [
    'a schema that is a boolean (can1357/oh-my-pi#5952)',
    object({ a: true, b: { type: 'array', items: true }, c: object({ d: true }, { additionalProperties: false }) }),
    { properties: { a: {}, b: { items: {} }, c: { properties: { d: {} }, additionalProperties: false } } },
  ],
];

describe.each([false, true])('Moonshot gets what it takes (streamed: %s)', (stream) => {
  it.each(schemas)('%s', async (_name, parameters, expected) => {
    const user = { role: 'user', content: 'Hi' };
    const flat = { name: 'find', parameters };
    const bodies = {
      chat: { messages: [user], tools: [{ type: 'function', function: flat }] },
      responses: { input: 'Hi', tools: [{ type: 'function', ...flat }] },
      messages: { messages: [user], tools: [{ name: 'find', input_schema: parameters }] },
    };
    for (const api of ['chat', 'responses', 'messages'] as const) {
      const { status, sent } = await lab.send(api, { ...bodies[api], stream });
      expect([api, status]).toEqual([api, 200]);
      expect(sent).toMatchObject({ tools: [{ function: { parameters: expected } }] });
    }
    expect(lab.fake.upstream.requests).not.toHaveLength(0);
  });
});

it('many references with descriptions end', async () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [
      `d${index}`,
      object(
        Object.fromEntries(['a', 'b', 'c'].map((name) => [name, { $ref: `#/$defs/d${index + 1}`, description: name }])),
        { description: 'D' },
      ),
    ]),
  );
  $defs['d30'] = { ...text, description: 'End' };
  const parameters = object({ a: { $ref: '#/$defs/d0', description: 'First.' } }, { $defs });
  const { status } = await lab.send('chat', {
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [{ type: 'function', function: { name: 'find', parameters } }],
  });
  expect(status).toBe(200);
});
