import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { textWires, wires } from '../../src/providers/index.ts';
import { findImageFate, imageColumns, imageRows } from './image-matrix.ts';
import { answers, columns, findFate, hasRecording, pageUrl, rows, writePage } from './matrix.ts';

it('has a column for each wire but the simulator', () => {
  const real = [...textWires.keys()].filter((id) => id !== 'simulator');
  expect(Object.keys(columns).sort()).toEqual(real.sort());
});

describe.each(Object.keys(columns))('%s', (wire) => {
  it.each(rows)('carries, names or refuses: $name', (row) => {
    const fate = findFate(wire, row);
    if (fate.kind === 'refused') expect(fate.path).toMatch(/^[a-z_]+(\[\d+\]|\.[a-z_]+)*$/);
    if (fate.kind === 'named') for (const name of fate.names) expect(name).not.toBe('');
  });

  it('never sends the end user up by name', () => {
    const request = {
      input: [{ type: 'message' as const, role: 'user' as const, content: 'a' }],
      user: 'ada@example.org',
    };
    const target = { endpoint: 'm at P', upstreamModel: columns[wire]!, stream: false, dialect: {}, endUser: 'hg_1' };
    const written = textWires.get(wire)!.writeRequest({ ...request, safety_identifier: 'ada@example.org' }, target);
    expect(JSON.stringify(written)).not.toContain('ada@');
  });

  it.each(answers.filter(({ recordings }) => recordings[wire]))('has a recording of: $name', ({ recordings }) => {
    expect(hasRecording(wire, recordings[wire]!)).toBe(true);
  });
});

it('has a column for each wire that makes pictures at an upstream of its own', () => {
  const shown = new Set(imageColumns.map(({ wire }) => wire));
  const real = [...wires.values()].filter(({ image, id }) => image && !image.answerImage && id !== 'openai-responses');
  expect([...shown].sort()).toEqual(real.map(({ id }) => id).sort()); // that one answers as `openai-images` does
});

describe.each(imageColumns)('pictures of $wire, $model', (column) => {
  it.each(imageRows)('are told what becomes of: $name', (row) => {
    expect(['yes', 'nearest', 'left out', '400']).toContain(findImageFate(column, row));
  });
});

it('the page says what the wires do; `npm run docs` makes it so', () => {
  expect(readFileSync(pageUrl, 'utf8')).toBe(writePage());
});
