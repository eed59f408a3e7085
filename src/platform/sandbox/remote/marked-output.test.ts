import { array, assert, constantFrom, nat, oneof, property, uint8Array } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutAnywhere } from '../../../testing/cut-anywhere.ts';
import { MarkedOutput, type OutputMark } from './marked-output.ts';

const MARKER = '<0123456789abcdef>';

/** Reads pieces. Bytes between two marks come as one text. */
function readPieces(pieces: readonly Buffer[]): (string | OutputMark)[] {
  const read: (string | OutputMark)[] = [];
  const output = new MarkedOutput(MARKER, {
    bytes(piece) {
      const last = read.at(-1);
      if (typeof last === 'string') read[read.length - 1] = last + piece.toString('latin1');
      else read.push(piece.toString('latin1'));
    },
    mark: (mark) => void read.push(mark),
  });
  for (const piece of pieces) output.push(piece);
  return read;
}

const write = (parts: readonly (string | OutputMark)[]): Buffer =>
  Buffer.from(
    parts.map((part) => (typeof part === 'string' ? part : `${MARKER}${part.kind}${part.value}\n`)).join(''),
    'latin1',
  );

/** Texts that contain what marks are made of, but no marker. */
const text = oneof(
  uint8Array({ minLength: 1 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  array(constantFrom('<', '<0', '<012345', '<0123456789abcdef', '>', 'e0', '\n', '<<'), { minLength: 1 }).map((all) =>
    all.join('').replaceAll(MARKER, ''),
  ),
).filter((one) => one.length > 0 && !one.includes(MARKER));
const mark = nat(255).map((value): OutputMark => ({ kind: 's', value }));
/** A text ends with the next mark, so that nothing waits for more. */
const parts = array(
  oneof(
    mark.map((one) => [one]),
    text.chain((one) => mark.map((end) => [one, end])),
  ),
).map((all) => all.flat());

describe('marked output', () => {
  it('is read the same wherever pieces end', () => {
    assert(
      property(parts, array(nat(40)), (all, cuts) => {
        expect(readPieces(cutAnywhere(write(all), cuts))).toEqual(all);
      }),
    );
  });

  it('loses no byte of a command that invents marks, and no mark behind them', () => {
    const invented = constantFrom(
      '',
      'e',
      'e1',
      'E1\n',
      'e1x\n',
      '-1\n',
      'e1\r\n',
      '\n',
      'x'.repeat(40),
      'e999999999999999\n',
      'e99999999999999999\n',
    );
    assert(
      property(array(invented), array(nat(40)), (forged, cuts) => {
        const output = forged.map((one) => MARKER + one).join('');
        const end: OutputMark = { kind: 'e', value: 0 };
        const read = readPieces(cutAnywhere(Buffer.concat([Buffer.from(output), write([end])]), cuts));
        expect(read).toEqual(output === '' ? [end] : [output, end]);
      }),
    );
  });
});
