import { CommandError, type TerminalInput, type TerminalOutput } from './terminal.ts';

/** The largest body that the API accepts. */
const MAX_BYTES = 425_000;
const ENTER = 13;
const NEWLINE = 10;
const BACKSPACE = 127;
const CTRL_C = 3;
const CTRL_D = 4;

/**
 * Reads a secret from the standard input: all of it without a final newline, or a line that is typed without echo. It is
 * never an argument, because other users see the arguments of processes.
 *
 * @throws {CommandError} if it is empty, too long or interrupted
 */
export async function readSecretValue(input: TerminalInput, stderr: TerminalOutput): Promise<string> {
  const bytes = input.isTTY ? await readTyped(input, stderr) : await readAll(input);
  try {
    const value = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    if (value === '') throw new CommandError('The value is empty.');
    return value;
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError('The value is not UTF-8.');
  } finally {
    bytes.fill(0);
  }
}

async function readAll(input: TerminalInput): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of input) {
    pieces.push(Buffer.from(piece));
    length += pieces.at(-1)!.length;
    if (length > MAX_BYTES) throw tooLong();
  }
  const whole = Buffer.concat(pieces);
  for (const piece of pieces) piece.fill(0);
  const end = whole.at(-1) === NEWLINE ? (whole.at(-2) === ENTER ? 2 : 1) : 0;
  return whole.subarray(0, whole.length - end);
}

/** Reads until Enter. The terminal shows nothing. */
async function readTyped(input: TerminalInput, stderr: TerminalOutput): Promise<Buffer> {
  stderr.write('Value (not shown): ');
  input.setRawMode?.(true);
  const typed: number[] = [];
  try {
    for await (const piece of input) {
      for (const byte of Buffer.from(piece)) {
        if (byte === CTRL_C) throw new CommandError('Interrupted. Nothing was stored.');
        if (byte === ENTER || byte === NEWLINE || byte === CTRL_D) return Buffer.from(typed);
        if (byte === BACKSPACE) removeCharacter(typed);
        else typed.push(byte);
        if (typed.length > MAX_BYTES) throw tooLong();
      }
    }
    return Buffer.from(typed);
  } finally {
    typed.fill(0);
    input.setRawMode?.(false);
    stderr.write('\n');
  }
}

/** Removes the last character of UTF-8, which can have several bytes. */
function removeCharacter(bytes: number[]): void {
  while (((bytes.pop() ?? 0) & 0xc0) === 0x80);
}

const tooLong = (): CommandError => new CommandError(`The value has more than ${MAX_BYTES} bytes.`);
