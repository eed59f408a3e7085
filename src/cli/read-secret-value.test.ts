import { describe, expect, it } from 'vitest';
import { readSecretValue } from './read-secret-value.ts';
import type { TerminalInput } from './terminal.ts';

/** Reads from pieces of an input. @returns the value, what the terminal shows, and the changes of its mode */
async function read(pieces: readonly (string | Buffer)[], isTTY = false) {
  const shown: string[] = [];
  const modes: boolean[] = [];
  async function* iterate() {
    yield* pieces;
  }
  const input: TerminalInput = { [Symbol.asyncIterator]: iterate, isTTY, setRawMode: (isRaw) => modes.push(isRaw) };
  const value = await readSecretValue(input, { write: (text: string) => shown.push(text) });
  return { value, shown: shown.join(''), modes };
}

describe('the value of a secret', () => {
  it.each([
    [['token\n'], 'token'],
    [['to', 'ken\r\n'], 'token'],
    [['two\nlines\n\n'], 'two\nlines\n'],
    [[Buffer.from('📦').subarray(0, 2), Buffer.from('📦').subarray(2)], '📦'],
    [[' \ufefftoken '], ' \ufefftoken '],
  ])('is the input %j without its final newline: %j', async (pieces, expected) => {
    expect(await read(pieces)).toEqual({ value: expected, shown: '', modes: [] });
  });

  it.each([
    [['tok', 'en\r'], 'token'],
    [['tokenx\u007f\n', 'more'], 'token'],
    [['ä\u007fé\u007f\u007f\u007fx\u0004'], 'x'],
    [['token'], 'token'],
  ])('is typed as %j without echo: %j', async (pieces, expected) => {
    const { value, shown, modes } = await read(pieces, true);
    expect(value).toBe(expected);
    expect(shown).toBe('Value (not shown): \n');
    expect(modes).toEqual([true, false]);
  });

  it.each<[string, (string | Buffer)[], boolean, string]>([
    ['empty', ['\n'], false, 'empty'],
    ['not typed', ['\r'], true, 'empty'],
    ['interrupted', ['tok\u0003'], true, 'Nothing was stored'],
    ['no UTF-8', [Buffer.from([0xff])], false, 'UTF-8'],
    ['too long', ['a'.repeat(425_001)], false, '425000 bytes'],
    ['typed too long', ['a'.repeat(425_001)], true, '425000 bytes'],
  ])('is an error if it is %s', async (_, pieces, isTTY, says) => {
    await expect(read(pieces, isTTY)).rejects.toThrow(says);
  });
});
