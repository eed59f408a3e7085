import { describe, expect, it } from 'vitest';
import { type PartlyServed, DroppedFieldsLog } from '../../platform/telemetry/dropped-fields-log.ts';
import { writeDroppedFields } from './dropped-fields-header.ts';

type Given = Parameters<typeof writeDroppedFields>[0];

const write = (ignoredFields: string[], ...steps: string[][][]): string | undefined =>
  writeDroppedFields({
    ignoredFields,
    steps: steps.map((attempts) => ({ attempts: attempts.map((droppedFields) => ({ droppedFields })) })),
  } as unknown as Given); // the only fields that it reads

describe('X-Router-Dropped-Fields', () => {
  it('is absent if every field had an effect', () => {
    expect(write([])).toBeUndefined();
    expect(write([], [[]])).toBeUndefined();
  });

  it('names the fields of the last attempt of each step once, without reasons, and the unknown ones', () => {
    expect(write(['colour'], [['seed'], ['size (→ 64x64)', 'top_k']], [['top_k', 'tools[0] (web_search, x)']])).toBe(
      'size, top_k, tools[0], colour',
    );
  });

  it.each([
    ['a\r\nset-cookie: x', 'a%0D%0Aset-cookie:%20x'],
    ['a, b', 'a%2C%20b'],
    ['größe', 'gr%C3%B6%C3%9Fe'],
    ['\ud800', '%EF%BF%BD'],
    ['metadata["it\'s (b)"]', 'metadata[%22it%27s%20(b)%22]'],
  ])('encodes %j', (field, name) => {
    const text = write([field])!;
    expect(text).toBe(name);
    expect(() => new Headers({ 'x-router-dropped-fields': text })).not.toThrow();
  });

  it('has at most 1024 characters', () => {
    const text = write(Array.from({ length: 400 }, (_, at) => `field_${at}_€`))!;
    expect(text.length).toBeLessThanOrEqual(1024);
    expect(text.length).toBeGreaterThan(900);
    expect(text).toMatch(/, \.\.\.$/);
    expect(write(['a', '… and 7 more'])).toBe('a, ...');
    expect(write(['x'.repeat(5000)])).toBe('...');
  });
});

describe('the log of dropped fields', () => {
  const served = (key: string, model: string): PartlyServed => ({
    requestId: 'req_1',
    generationId: 'gen-1',
    caller: { keyHash: `${key}0123456789abcdef`, keyName: key },
    model,
    provider: 'Acme',
    fields: 'top_k',
  });

  it('has a line for each key and model', () => {
    const lines: unknown[] = [];
    const log = new DroppedFieldsLog((message, fields) => void lines.push([message, fields]));
    for (const key of ['a', 'b', 'a', 'b']) for (const model of ['m', 'n']) log.note(served(key, model));
    expect(lines).toHaveLength(4);
    expect(lines[0]).toEqual([
      'request fields dropped',
      {
        request_id: 'req_1',
        generation_id: 'gen-1',
        key_name: 'a',
        key_hash: 'a0123456789a',
        model: 'm',
        provider: 'Acme',
        fields: 'top_k',
      },
    ]);
  });

  it('forgets the pairs when there are too many', () => {
    let lines = 0;
    const log = new DroppedFieldsLog(() => void lines++);
    for (let at = 0; at <= 5000; at++) log.note(served('a', `m${at}`));
    log.note(served('a', 'm5000')); // still known
    expect(lines).toBe(5001);
    log.note(served('a', 'm0'));
    expect(lines).toBe(5002);
  });
});
