import fc from 'fast-check';
import { longNumber } from '../../../src/testing/strict/plan-output.ts';
import type { InboundApi } from '../strict-lab.ts';

/** A conversation without a format. Each text that must reach the server has a mark: `mark7x`. */
export interface Talk {
  api: InboundApi;
  stream: boolean;
  entries: Entry[];
  tools: TalkTool[];
  choice: 'auto' | 'none' | 'required' | { name: string } | undefined;
  format: 'json_object' | { schema: object } | undefined;
  settings: TalkSettings;
  /** The cache marks of the texts of the user, if the API has them, in turns. */
  cached: ('5m' | '1h')[];
}

export type Entry =
  | { kind: 'system'; text: string }
  | { kind: 'user'; parts: TalkPart[]; name?: string }
  | { kind: 'assistant'; thoughts?: string; text: string; calls: TalkCall[] };

export type TalkPart =
  | { kind: 'text'; text: string }
  | { kind: 'image'; url: string }
  | { kind: 'file'; name: string; text: string };

export interface TalkCall {
  id: string;
  name: string;
  input: Record<string, unknown>;
  /** Absent: the call was interrupted. */
  result?: { text: string; image?: string };
}

export interface TalkTool {
  name: string;
  description?: string;
  schema?: Record<string, unknown>;
  strict?: boolean;
}

export interface TalkSettings {
  temperature?: number;
  top_p?: number;
  stop?: string[];
  max?: number;
  effort?: string;
  seed?: number;
  penalty?: number;
  parallel?: boolean;
  verbosity?: string;
  user?: string;
}

export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A whole number that a number cannot hold exactly. */
const longInteger = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(longNumber);

let marks = 0;
/** Returns the next mark. A mark is unique in the process, so shrinking never confuses two texts. */
const mark = (): string => `mark${marks++}x`;

const blank = fc.constantFrom('', ' ', '\n');
const words = fc
  .constantFrom('Hi', 'cut \ud83d here', '\ude00', 'Grüße 😀', 'a "quote" \\ud83d', 'END\n', 'json', ' ')
  .map((text) => `${text} ${mark()} `);
const text = fc.oneof({ weight: 6, arbitrary: words }, { weight: 1, arbitrary: blank });
const image = fc.constantFrom(
  `data:image/png;base64,${png}`,
  `data:image/jpeg;base64,${png}`,
  'https://example.com/image.png',
);
const part: fc.Arbitrary<TalkPart> = fc.oneof(
  { weight: 5, arbitrary: text.map((each) => ({ kind: 'text' as const, text: each })) },
  { weight: 1, arbitrary: image.map((url) => ({ kind: 'image' as const, url })) },
  {
    weight: 1,
    arbitrary: words.map((each) => ({ kind: 'file' as const, name: 'notes.txt', text: each.toWellFormed() })),
  },
);

const id = fc.constantFrom(
  'call_abc123',
  'functions.get_weather:0',
  'toolu_01AbCdEfGhIjKlMnOpQrSt',
  'abcDEF123',
  `call_${'z'.repeat(90)}`,
  'chatcmpl-tool-0123456789abcdef|fc_1',
  '7',
);
const names = ['get_weather', '21st_magic_component', '_private', 'mcp__server__tool-name', `long_${'n'.repeat(59)}`];
const longName = `mcp__${'very_long_'.repeat(11)}tool`;
const nameOf = (api: InboundApi) =>
  fc.constantFrom(...names, ...(api === 'messages' || api === 'gemini' ? [longName] : []));

const property = fc.constantFrom(
  { type: 'string' },
  { type: 'string', pattern: 'a+', minLength: 1 },
  { type: 'number', minimum: 0, exclusiveMinimum: true },
  { type: 'array', items: [{ type: 'string' }, { type: 'number' }] },
  { type: 'string', anyOf: [{ minLength: 1 }, { enum: ['', 'a'] }] },
  { type: ['string', 'null'], format: 'date-time' },
  { type: 'object' },
  { $ref: '#/$defs/node' },
  { $ref: '#/definitions/old' },
  { oneOf: [{ const: 'a' }, { type: 'integer', maximum: 9 }], default: 'a' },
  {
    type: 'object',
    properties: { inner: { type: 'object', properties: {} } },
    additionalProperties: { type: 'string' },
  },
);
const propertyNames = ['city', 'filter[name]', '$top', 'a b', 'größe', 'x'.repeat(70), '@type', 'type', 'properties'];
const definitions = {
  $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
  definitions: { old: { type: 'string' } },
};
const object = fc
  .dictionary(fc.constantFrom(...propertyNames), property, { maxKeys: 3 })
  .map((properties) => ({ type: 'object', properties, required: Object.keys(properties).slice(0, 1), ...definitions }));
const schema: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  { weight: 6, arbitrary: object },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Record<string, unknown>>(
      { type: 'object' },
      {
        type: 'object',
        properties: {},
        additionalProperties: false,
        $schema: 'http://json-schema.org/draft-07/schema#',
      },
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(object, object, fc.constantFrom('anyOf', 'oneOf', 'allOf'))
      .map(([a, b, keyword]) => ({ type: 'object', [keyword]: [a, b] })),
  },
);

const input = fc.dictionary(fc.constantFrom(...propertyNames), words, { maxKeys: 2 });
const withNumber = (given: Record<string, unknown>): Record<string, unknown> =>
  'city' in given ? { ...given, order: longInteger } : given;
const maybe = <T>(arbitrary: fc.Arbitrary<T>, freq = 2) => fc.option(arbitrary, { nil: undefined, freq });

const result = fc
  .tuple(text, maybe(image, 4))
  .map(([each, picture]) => ({ text: each, ...(picture && { image: picture }) }));
const callOf = (api: InboundApi): fc.Arbitrary<TalkCall> =>
  fc
    .tuple(id, nameOf(api), input, fc.option(result, { nil: undefined, freq: 6 }))
    .map(([callId, name, given, answer]) => ({
      id: callId,
      name,
      input: withNumber(given),
      ...(answer && { result: answer }),
    }));

const entryOf = (api: InboundApi): fc.Arbitrary<Entry> =>
  fc.oneof(
    { weight: 1, arbitrary: text.map((each) => ({ kind: 'system' as const, text: each })) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(fc.array(part, { minLength: 1, maxLength: 3 }), maybe(fc.constantFrom('Ada Lovelace', 'bob'), 5))
        .map(([parts, name]) => ({ kind: 'user' as const, parts, ...(name && { name }) })),
    },
    {
      weight: 4,
      arbitrary: fc
        .tuple(text, maybe(words, 3), fc.uniqueArray(callOf(api), { maxLength: 3, selector: (call) => call.id }))
        .map(([each, thoughts, calls]) => ({
          kind: 'assistant' as const,
          text: each,
          calls,
          ...(thoughts && { thoughts: thoughts.toWellFormed() }),
        })),
    },
  );

const settings: fc.Arbitrary<TalkSettings> = fc
  .record({
    temperature: maybe(fc.constantFrom(0, 0.7, 1, 1.3, 2)),
    top_p: maybe(fc.constantFrom(0, 0.5, 1), 3),
    stop: maybe(fc.constantFrom(['END'], ['\n\n'], ['A1', 'B2', 'C3', 'D4', 'E5', 'F6'], [' ', 'STOP'])),
    max: maybe(fc.constantFrom(1, 100, 4096, 32_000, 200_000)),
    effort: maybe(fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')),
    seed: maybe(fc.constant(7), 4),
    penalty: maybe(fc.constant(0.5), 4),
    parallel: maybe(fc.boolean(), 3),
    verbosity: maybe(fc.constantFrom('low', 'medium', 'high'), 5),
    user: maybe(fc.constant('user-1'), 5),
  })
  .map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));

const toolsOf = (api: InboundApi): fc.Arbitrary<TalkTool[]> =>
  fc.uniqueArray(
    fc
      .record({
        name: nameOf(api),
        description: maybe(fc.constantFrom('A tool.', 'd'.repeat(1500)), 3),
        schema: maybe(schema, 8),
        strict: maybe(fc.boolean(), 5),
      })
      .map(({ name, ...more }) => ({
        name,
        ...(Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)) as object),
      })),
    { maxLength: 3, selector: ({ name }) => name },
  );

/** Any conversation. */
export const talk: fc.Arbitrary<Talk> = fc
  .constantFrom<InboundApi>('responses', 'chat', 'messages', 'gemini')
  .chain((api) =>
    toolsOf(api).chain((tools) =>
      fc.record({
        api: fc.constant(api),
        stream: fc.boolean(),
        entries: fc.array(entryOf(api), { minLength: 1, maxLength: 6 }),
        tools: fc.constant(tools),
        choice: maybe(
          tools.length === 0
            ? fc.constantFrom<Talk['choice']>('auto', 'none')
            : fc.constantFrom<Talk['choice']>('auto', 'none', 'required', { name: tools[0]!.name }),
        ),
        format: maybe(
          fc.oneof(
            fc.constant('json_object' as const),
            object.map((each) => ({ schema: each })),
          ),
          5,
        ),
        settings,
        cached: fc.oneof(
          { weight: 4, arbitrary: fc.constant<('5m' | '1h')[]>([]) },
          { weight: 1, arbitrary: fc.array(fc.constantFrom<'5m' | '1h'>('5m', '1h'), { minLength: 1, maxLength: 3 }) },
        ),
      }),
    ),
  );
