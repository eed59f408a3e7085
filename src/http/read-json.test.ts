import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../domain/errors.ts';
import { readJson, refuseExcess } from './read-json.ts';

const read = (text: string): unknown => readJson(Buffer.from(text));

/** The error of a body, with its issues. */
function refusal(text: string): { message: string; issues: unknown } {
  try {
    read(text);
  } catch (error) {
    if (error instanceof GatewayError) return { message: error.message, issues: error.metadata['issues'] };
    throw error;
  }
  throw new Error('The body is accepted.');
}

/** Spaces that make a body too large to be inspected only after it is parsed. */
const padding = ' '.repeat(64 * 1024);
const sizes = [
  ['a small body', ''],
  ['a large body', padding],
] as const;

const nest = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe.each(sizes)('the nesting of %s', (_, spaces) => {
  it('is at most 100 levels, including the body itself', () => {
    expect(read(`${spaces}{"a":${nest(99)}}`)).toEqual({ a: JSON.parse(nest(99)) });
    expect(refusal(`${spaces}{"b":[[]],"a":${nest(100)},"c":1}`)).toEqual({
      message: 'a: `a` is nested deeper than 100 levels, which is the limit.',
      issues: [{ path: 'a', message: '`a` is nested deeper than 100 levels, which is the limit.' }],
    });
  });

  it.each([
    ['{"deep \\" one":', '}', '["deep \\" one"]'],
    ['{"x":{"y":1},"tools":[{"z":', '}],"y":2}', 'tools'],
    ['[', ']', ''],
  ])('is rejected at the field of the body that has it: %s…%s', (start, end, path) => {
    expect(refusal(spaces + start + nest(10_000) + end).issues).toEqual([
      { path, message: expect.stringContaining('is nested deeper than 100 levels') },
    ]);
  });
});

describe('the number of entries', () => {
  it('is at most 200,000 in all lists and objects', () => {
    const list = (length: number): string => `{"a":[${Array(length).fill('0').join()}]}`;
    expect(read(list(199_999))).toHaveProperty('a.length', 199_999);
    expect(refusal(list(200_000)).message).toBe(
      'a: `a` takes the body beyond 200000 list entries and object fields, which is the limit.',
    );
  });

  it('counts an empty object or list as one', () => {
    expect(refusal(`[${Array(150_000).fill('{}').join()}]`).message).toBe(
      'The body has more than 200000 list entries and object fields, which is the limit.',
    );
  });

  it('does not count what a string contains', () => {
    const text = '[{,:"'.repeat(300_000);
    expect(read(JSON.stringify({ text }))).toEqual({ text });
  });
});

describe('the number of different fields', () => {
  const object = (fields: number, name = 'f'): string =>
    `{${Array.from({ length: fields }, (_, index) => `"${name}${index}":0`).join()}}`;

  it('is at most 20,000', () => {
    expect(Object.keys(read(object(19_000)) as object)).toHaveLength(19_000);
    expect(refusal(`{"metadata":${object(25_000)}}`)).toEqual({
      message: 'metadata: `metadata` takes the body beyond 20000 different object fields, which is the limit.',
      issues: [expect.objectContaining({ path: 'metadata' })],
    });
  });

  it('is exceeded by many objects with different fields', () => {
    const objects = Array.from({ length: 1000 }, (_, index) => object(25, `x${index}_`));
    expect(refusal(`[${objects.join()}]`).message).toMatch(/different object fields/);
  });

  it('is exceeded by the same fields in many orders', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const orders = Array.from({ length: 8000 }, (_, index) => {
      const fields = [...names];
      for (let at = fields.length - 1, rest = index * 2_654_435_761; at > 0; at--) {
        const other = rest % (at + 1);
        rest = Math.floor(rest / (at + 1));
        [fields[at], fields[other]] = [fields[other]!, fields[at]!];
      }
      return `{${fields.map((name) => `"${name}":0`).join()}}`;
    });
    expect(refusal(`[${orders.join()}]`).message).toMatch(/different object fields/);
  });

  it('counts the fields of equal objects once, up to 128 of them', () => {
    expect(read(`[${Array<string>(5000).fill(object(20)).join()}]`)).toHaveLength(5000);
    expect(read(`[${Array<string>(1000).fill(object(128)).join()}]`)).toHaveLength(1000);
    expect(refusal(`[${Array<string>(100).fill(object(500)).join()}]`).message).toMatch(/different object fields/);
  });
});

describe('the scan before parsing', () => {
  /** Entries as the limit counts them. */
  const count = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 0;
    const entries = Object.values(value);
    return Math.max(1, entries.length) + entries.reduce<number>((sum, entry) => sum + count(entry), 0);
  };
  const levels = (value: unknown): number =>
    typeof value !== 'object' || value === null
      ? 0
      : 1 + Object.values(value).reduce<number>((max, entry) => Math.max(max, levels(entry)), 0);

  it('counts the values of the parser, for any strings', () => {
    const text = fc.stringMatching(/^[\\"[\]{},:a\u00e9\u{1f600}]*$/u, { size: 'medium' });
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ maxDepth: 6 }, text, fc.integer(), tie('list'), tie('object')),
      list: fc.array(tie('any'), { maxLength: 5 }),
      object: fc.dictionary(text, tie('any'), { maxKeys: 5 }),
    })).any;
    fc.assert(
      fc.property(value, fc.constantFrom(0, 1, '\t'), fc.boolean(), (value, space, isEscaped) => {
        const written = JSON.stringify(value, null, space);
        const body = Buffer.from(
          isEscaped ? written.replaceAll('a', '\\u0061').replaceAll('\\\\', '\\u005c') : written,
        );
        const [entries, depth] = [count(value), levels(value)];
        expect(() => refuseExcess(body, { levels: depth, entries, distinctFields: 1000 })).not.toThrow();
        if (entries > 0) {
          expect(() => refuseExcess(body, { levels: depth, entries: entries - 1, distinctFields: 1000 })).toThrow(
            /list entries/,
          );
          expect(() => refuseExcess(body, { levels: depth - 1, entries, distinctFields: 1000 })).toThrow(/nested/);
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    '"',
    '"\\',
    '"\\"',
    `"${'a'.repeat(1000)}`,
    `"${'a'.repeat(1000)}\\"`,
    `"${'\\'.repeat(1001)}"`,
    ']]}}[{',
    ':::',
    '{"a":[}',
  ])('leaves text that is not JSON to the parser: %j', (text) => {
    expect(() => refuseExcess(Buffer.from(text))).not.toThrow();
    expect(refusal(padding + text).message).toMatch(/^The body is not valid JSON/);
  });

  it('reads each string once, for any number of colons after it', () => {
    const body = `{"${'a'.repeat(2 ** 20)}"${':'.repeat(2 ** 20)}1}`;
    expect(refusal(body).message).toMatch(/^a+…: .* different object fields/);
  });

  it.each([63, 64, 65, 127, 128, 1000])('finds the end of a string with an escape after %i characters', (length) => {
    for (const escaped of ['\\"', '\\\\', '\\\\\\"', '\\n']) {
      const text = `["${'x'.repeat(length)}${escaped}",${nest(99)}]`;
      expect(() => refuseExcess(Buffer.from(text))).not.toThrow();
      expect(() => refuseExcess(Buffer.from(text.replace(']', ',[]]').replace('[[', '[[[')))).toThrow(/nested deeper/);
    }
  });
});

describe.each(sizes)('keys and numbers of %s', (_, spaces) => {
  it.each([
    '{"__proto__": 1}',
    '{"a": [{"__proto__": {"x": 1}}]}',
    '{"a": {"__pr\\u006Fto__": 1}}',
    '{"constructor": {"prototype": 1}}',
    '{"a": {"\\u0063onstructor": {"prototyp\\u0065": {}}}}',
  ])('are rejected if they could change a prototype: %s', (text) => {
    expect(refusal(spaces + text).message).toBe(
      'The body contains the key __proto__ or constructor.prototype; remove it.',
    );
  });

  it.each([
    '{"a": "__proto__"}',
    '{"constructor": "prototype"}',
    '{"constructor": null, "prototype": {}}',
    '{"constructor": {"a": {"prototype": 1}}}',
  ])('pass if they cannot: %s', (text) => {
    expect(JSON.stringify(read(spaces + text))).toBe(JSON.stringify(JSON.parse(text)));
  });

  it('must be finite', () => {
    expect(refusal(`${spaces}{"temperature": 1e999, "trace": {"a": [1, -1e999], "b c": 1e308}}`).issues).toEqual([
      { path: 'temperature', message: '`temperature` must be a finite number, got Infinity.' },
      { path: 'trace.a[1]', message: '`a[1]` must be a finite number, got -Infinity.' },
    ]);
  });
});
