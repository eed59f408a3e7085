import { type Logger, pino } from 'pino';

export interface Log {
  log: Logger;
  /** Hides these, too. Those that a reload has replaced stay hidden: requests under way still use them. */
  addSecrets(secrets: readonly string[]): void;
  /** The same for texts that go elsewhere. */
  mask: { hide(text: string): string; readonly longest: number };
}

export interface LogOptions {
  level: string;
  secrets: readonly string[];
  /** Are in every line. */
  fields?: Readonly<Record<string, unknown>> | undefined;
  /** Turns a JSON line into the text to print. Absent: the line stays JSON. */
  format?: ((line: string) => string) | undefined;
  /** Receives whole lines. Absent: standard error. */
  write?: (line: string) => void;
}

/**
 * Opens the log. A library may put a secret into an error, so secrets are masked in every line before it leaves.
 */
export function openLog({ level, secrets, fields = {}, format, write }: LogOptions): Log {
  const stderr = write ? undefined : pino.destination(2);
  const print = write ?? ((line) => void stderr!.write(line));
  const out = format ? (line: string) => print(format(line)) : print;
  let hidden: string[] = [];
  const log = pino({ level }, { write: (line: string) => out(mask(line, hidden)) }).child(fields);
  const addSecrets = (more: readonly string[]): void => {
    // The longest first: one may hold another.
    hidden = [...new Set([...hidden, ...more.flatMap(writtenForms)])].sort((a, b) => b.length - a.length);
  };
  addSecrets(secrets);
  return {
    log,
    addSecrets,
    mask: {
      hide: (text) => mask(text, hidden),
      get longest() {
        return hidden[0]?.length ?? 0;
      },
    },
  };
}

/** As they stand, and as they stand within JSON. */
const writtenForms = (secret: string): string[] => [JSON.stringify(secret).slice(1, -1), secret];

const mask = (line: string, hidden: readonly string[]): string =>
  hidden.reduce((masked, secret) => masked.replaceAll(secret, '[secret]'), line);
