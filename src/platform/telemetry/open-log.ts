import { writeSync } from 'node:fs';
import { pino, stdSerializers } from 'pino';
import { type LogLevel, type LogMessage, logMessages, type WriteLog } from './log-messages.ts';

export interface Log {
  write: WriteLog;
  /** Whether lines of this level are currently written. */
  isEnabled(level: LogLevel): boolean;
  setLevel(level: string): void;
  /** Hides more secrets. Secrets that a reload replaced stay hidden, because requests in flight still use them. */
  addSecrets(secrets: readonly string[]): void;
  /** Hides the secrets in a text that is written elsewhere. */
  mask: { hide(text: string): string; readonly longest: number };
}

export interface LogOptions {
  level: string;
  secrets: readonly string[];
  /** Fields of every line. */
  fields?: Readonly<Record<string, unknown>> | undefined;
  /** Turns a JSON line into the text to print. Absent: the line stays JSON. */
  format?: ((line: string) => string) | undefined;
  /** Receives whole lines. Absent: standard error. */
  write?: (line: string) => void;
}

/**
 * Opens the log. The gateway never logs a secret, but the error of a library may contain one. Therefore secrets are
 * masked in every line before it is written.
 */
export function openLog({ level, secrets, fields = {}, format, write }: LogOptions): Log {
  const print = write ?? writeToStandardError;
  const out = format ? (line: string) => print(format(line)) : print;
  let hidden: string[] = [];
  const logger = pino(
    { level, serializers: { err: (err: unknown) => err } },
    { write: (line: string) => out(mask(line, hidden)) },
  ).child(fields);
  const addSecrets = (more: readonly string[]): void => {
    // The longest first, because one secret may contain another.
    hidden = [...new Set([...hidden, ...more.flatMap(writtenForms)])].sort((a, b) => b.length - a.length);
  };
  addSecrets(secrets);
  return {
    write(message, values, level) {
      const { err } = (values ?? {}) as { err?: unknown };
      const shown = err instanceof Error ? { ...values, err: summarize(err, defects.has(message)) } : values;
      logger[level ?? logMessages[message].levels[0]](shown ?? {}, message as string);
      if (err instanceof Error && logger.isLevelEnabled('debug')) {
        logger.debug({ of: message, err: stdSerializers.err(err) }, 'error details');
      }
    },
    isEnabled: (at) => logger.isLevelEnabled(at),
    setLevel(next) {
      logger.level = next;
    },
    addSecrets,
    mask: {
      hide: (text) => mask(text, hidden),
      get longest() {
        return hidden[0]?.length ?? 0;
      },
    },
  };
}

/** Messages about errors that may be defects of code. A report of one needs the stack. */
const defects: ReadonlySet<LogMessage> = new Set([
  'request failed',
  'attempt failed',
  'plugin failed',
  'plugin promise rejected',
  'tool failed',
]);

/** Names an error. An error with a code, such as `ECONNREFUSED`, is no defect of code. */
function summarize(error: Error & { code?: unknown }, mayBeDefect: boolean): object {
  const { type, message, stack } = stdSerializers.err(error);
  const code = typeof error.code === 'string' ? error.code : undefined;
  return { type, message, ...(code === undefined ? mayBeDefect && { stack } : { code }) };
}

const MAX_RETRIES = 50;
const RETRY_MS = 10;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes a line at once. A line that cannot be written, for example because its disk is full, is lost: the destinations
 * of pino keep such lines without a limit, and retry without end when the process exits.
 */
function writeToStandardError(line: string): void {
  let rest = Buffer.from(line);
  for (let retries = 0; rest.length > 0 && retries <= MAX_RETRIES; ) {
    try {
      rest = rest.subarray(writeSync(2, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      retries++; // the reader of the pipe is slow
      Atomics.wait(sleeper, 0, 0, RETRY_MS);
    }
  }
}

/** Returns the forms of a secret: the plain text, and the text inside JSON. */
const writtenForms = (secret: string): string[] => [JSON.stringify(secret).slice(1, -1), secret];

const mask = (line: string, hidden: readonly string[]): string =>
  hidden.reduce((masked, secret) => masked.replaceAll(secret, '[secret]'), line);
