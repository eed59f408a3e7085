import { type Logger, pino } from 'pino';

export interface Log {
  log: Logger;
  /** Hides these, too. Those that a reload has replaced stay hidden: requests under way still use them. */
  addSecrets(secrets: readonly string[]): void;
  /** The same for texts that go elsewhere. */
  mask: { hide(text: string): string; readonly longest: number };
}

/**
 * The log: JSON lines. Nobody writes a secret into it on purpose; what a library puts into an error is another matter, so
 * every line is looked through before it leaves.
 *
 * @param fields stand in every line
 * @param write takes whole lines; absent: standard error
 */
export function openLog(
  level: string,
  secrets: readonly string[],
  fields: Readonly<Record<string, unknown>> = {},
  write?: (line: string) => void,
): Log {
  const stderr = write ? undefined : pino.destination(2);
  const out = write ?? ((line) => void stderr!.write(line));
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
