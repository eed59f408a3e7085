import type { TerminalOutput } from './terminal.ts';

/** The outputs of the process. */
export interface ProcessOutputs {
  stdout: TerminalOutput;
  stderr: TerminalOutput;
  /** Aborted when the reader of stdout has closed it. */
  closed: AbortSignal;
  /** Whether an output could not be written, for another reason than a reader that closed it. */
  hasFailed(): boolean;
}

/** Codes of a closed pipe, and of writes after the first error. `headgate doctor | head -3` closes its pipe early. */
const closedCodes = new Set(['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED']);

/**
 * Opens the outputs of the process. A reader that closes its pipe is no error: the command still completes, unless it runs
 * forever. Any other error is reported once on stderr.
 */
export function openProcessOutputs({ stdout, stderr }: Pick<NodeJS.Process, 'stdout' | 'stderr'>): ProcessOutputs {
  const reader = new AbortController();
  let hasFailed = false;
  const watch = (name: string, output: NodeJS.WriteStream, onClosed: () => void): TerminalOutput => {
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (closedCodes.has(error.code ?? '')) return onClosed();
      if (!hasFailed) stderr.write(`headgate: ${name} cannot be written: ${error.message}\n`);
      hasFailed = true;
    });
    return {
      write: (text) => output.write(text),
      writeBytes: (bytes) => new Promise((resolve) => output.write(bytes, () => resolve())), // an error calls it, too
      drain: () => new Promise((resolve) => output.write('', () => resolve())), // an error calls it, too
      isTTY: output.isTTY,
      columns: output.columns,
    };
  };
  return {
    stdout: watch('stdout', stdout, () => reader.abort()),
    stderr: watch('stderr', stderr, () => {}),
    closed: reader.signal,
    hasFailed: () => hasFailed,
  };
}
