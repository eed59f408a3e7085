import { styleText } from 'node:util';
import { escapeControls } from '../domain/escape-controls.ts';
import { readResultCode, resultCodes } from '../platform/storage/sqlite/result-codes.ts';

/** The environment of a command. */
export interface Terminal {
  stdout: TerminalOutput;
  stderr: TerminalOutput;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** Aborted when the reader of stdout has closed it. */
  closed?: AbortSignal;
  /** Opens the standard input. Only commands that read it do. */
  openInput?: () => TerminalInput;
  /** Called when `headgate start` has closed its gateway. */
  onGatewayClosed?: () => void;
}

export interface TerminalInput extends AsyncIterable<Uint8Array | string> {
  isTTY?: boolean;
  /** Turns the echo and the lines of a terminal off. */
  setRawMode?(isRaw: boolean): unknown;
}

export interface TerminalOutput {
  write(text: string): unknown;
  /** Writes bytes as they are, and waits until there is room for more. Absent: the output takes only text. */
  writeBytes?(bytes: Uint8Array): Promise<void>;
  /** Waits until the reader has taken everything, or has closed the output. Commands that run forever call it. */
  drain?(): Promise<void>;
  isTTY?: boolean;
  /** Width of a terminal in characters. */
  columns?: number;
}

/** A failure that is printed without a stack, with exit code 1. */
export class CommandError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CommandError';
  }
}

/** Creates an output that escapes control characters. @see escapeControls */
export const sanitizeOutput = (output: TerminalOutput): TerminalOutput => ({
  write: (text) => output.write(escapeControls(text)),
  drain: async () => output.drain?.(),
  ...(output.writeBytes && { writeBytes: (bytes) => output.writeBytes!(bytes) }),
  ...(output.isTTY === undefined ? undefined : { isTTY: output.isTTY }),
  ...(output.columns === undefined ? undefined : { columns: output.columns }),
});

export type Color = 'green' | 'yellow' | 'red' | 'bold' | 'dim';

/** Whether stdout is a terminal that may show colors. @see https://no-color.org */
export const hasColors = ({ env, stdout }: Pick<Terminal, 'env' | 'stdout'>): boolean =>
  Boolean(stdout.isTTY) && !env.NO_COLOR && env.TERM !== 'dumb';

/** Colors a text if stdout shows colors. */
export const colorize = (terminal: Pick<Terminal, 'env' | 'stdout'>, color: Color, text: string): string =>
  hasColors(terminal) ? styleText(color, text, { validateStream: false }) : text;

/** Messages for files that cannot be read, by the code of Node's error. */
const unreadable: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `There is no file ${path}.`,
  ENOTDIR: (path) => `There is no file ${path}: part of the path is not a folder.`,
  EACCES: (path) => `This user cannot read ${path}.`,
};

/** Returns the message of anything thrown, on one line, with the causes of errors that only wrap others. */
export function readMessage(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return readMessage(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const { code = '', syscall, path } = error as NodeJS.ErrnoException;
  if (readResultCode(error) === resultCodes.full)
    return `The disk of the database is full (${error.message}). Free space on it.`;
  if (syscall === 'open' && path !== undefined && unreadable[code]) return unreadable[code](path);
  if (syscall === 'read' && code === 'EISDIR') return 'It is a folder, not a file.';
  const cause = error.cause instanceof Error && error.message === 'fetch failed' ? `: ${readMessage(error.cause)}` : '';
  return (error.message || error.name) + cause;
}
