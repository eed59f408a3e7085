import { pino } from 'pino';
import { type LogLevel, logMessages, type WriteLog } from './log-messages.ts';

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
  const stderr = write ? undefined : pino.destination(2);
  stderr?.on('error', () => {}); // a full disk loses lines of the log, and does not end the gateway
  const print = write ?? ((line) => void stderr!.write(line));
  const out = format ? (line: string) => print(format(line)) : print;
  let hidden: string[] = [];
  const logger = pino({ level }, { write: (line: string) => out(mask(line, hidden)) }).child(fields);
  const addSecrets = (more: readonly string[]): void => {
    // The longest first, because one secret may contain another.
    hidden = [...new Set([...hidden, ...more.flatMap(writtenForms)])].sort((a, b) => b.length - a.length);
  };
  addSecrets(secrets);
  return {
    write: (message, values, level) => logger[level ?? logMessages[message].levels[0]](values ?? {}, message as string),
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

/** Returns the forms of a secret: the plain text, and the text inside JSON. */
const writtenForms = (secret: string): string[] => [JSON.stringify(secret).slice(1, -1), secret];

const mask = (line: string, hidden: readonly string[]): string =>
  hidden.reduce((masked, secret) => masked.replaceAll(secret, '[secret]'), line);
