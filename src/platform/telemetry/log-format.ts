/** The format of log lines. `auto` is `pretty` on a terminal and `json` elsewhere. */
export type LogFormat = 'auto' | 'pretty' | 'json';

/** Whether the log is text for people. */
export const isPretty = (format: LogFormat, { isTTY }: { isTTY?: boolean | undefined } = process.stderr): boolean =>
  format === 'pretty' || (format === 'auto' && Boolean(isTTY));

/**
 * Loads the format of the log. `pino-pretty` is loaded only if it is needed.
 *
 * @returns undefined for JSON
 */
export async function loadLogFormat(format: LogFormat): Promise<((line: string) => string) | undefined> {
  if (!isPretty(format)) return undefined;
  const { createPrettyFormat } = await import('./pretty-log.ts');
  const { NO_COLOR, TERM } = process.env;
  return createPrettyFormat({ hasColors: Boolean(process.stderr.isTTY) && !NO_COLOR && TERM !== 'dumb' });
}
