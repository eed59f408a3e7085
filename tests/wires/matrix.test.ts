import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { textWires, wires } from '../../src/providers/index.ts';
import { findImageFate, imageColumns, imageRows } from './image-matrix.ts';
import { answers, columns, findFate, hasRecording, pageUrl, rows, writePage } from './matrix.ts';

it('has a column for each wire except the simulator', () => {
  const real = [...textWires.keys()].filter((id) => id !== 'simulator');
  expect(Object.keys(columns).sort()).toEqual(real.sort());
});

describe.each(Object.keys(columns))('%s', (wire) => {
  it.each(rows)('sends, reports or rejects: $name', (row) => {
    const fate = findFate(wire, row);
    if (fate.kind === 'rejected') expect(fate.path).toMatch(/^[a-z_]+(\[\d+\]|\.[a-z_]+)*$/);
    if (fate.kind === 'reported') for (const name of fate.names) expect(name).not.toBe('');
  });

  it('never sends the name of the end user', () => {
    const request = {
      input: [{ type: 'message' as const, role: 'user' as const, content: 'a' }],
      user: 'ada@example.org',
    };
    const target = { endpoint: 'm at P', upstreamModel: columns[wire]!, stream: false, dialect: {}, endUser: 'hg_1' };
    const written = textWires
      .get(wire)!
      .text.writeRequest({ ...request, safety_identifier: 'ada@example.org' }, target);
    expect(JSON.stringify(written)).not.toContain('ada@');
  });

  it.each(answers.filter(({ recordings }) => recordings[wire]))('has a recording of: $name', ({ recordings }) => {
    expect(hasRecording(wire, recordings[wire]!)).toBe(true);
  });
});

it('has a column for each wire that generates images at its own upstream', () => {
  const shown = new Set(imageColumns.map(({ wire }) => wire));
  const real = [...wires.values()].filter(({ image, id }) => image && !image.send && id !== 'openai-responses');
  expect([...shown].sort()).toEqual(real.map(({ id }) => id).sort()); // openai-responses has the responses of openai-images
});

describe.each(imageColumns)('images of $wire, $model', (column) => {
  it.each(imageRows)('send, change, drop or reject: $name', (row) => {
    expect(['yes', 'nearest', 'dropped', '400']).toContain(findImageFate(column, row));
  });
});

it('the page is current; `npm run docs` rewrites it', () => {
  expect(readFileSync(pageUrl, 'utf8')).toBe(writePage());
});
