import { prettyFactory } from 'pino-pretty';
import { escapeControls } from '../../domain/escape-controls.ts';
import { formatRequestLine, type RequestLine } from './request-line.ts';

/**
 * Creates the format of the log on a terminal. A request is one short line. `pino-pretty` formats all other lines.
 *
 * @returns a function from a JSON line to the text to print, with its line break
 */
export function createPrettyFormat({ hasColors }: { hasColors: boolean }): (line: string) => string {
  const formatOther = prettyFactory({
    colorize: hasColors,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname,request_id',
    singleLine: true,
  });
  return (line) => {
    const fields = JSON.parse(line) as { msg?: string };
    const text =
      fields.msg === 'request' ? `${formatRequestLine(fields as RequestLine, { hasColors })}\n` : formatOther(fields);
    return escapeControls(text);
  };
}
