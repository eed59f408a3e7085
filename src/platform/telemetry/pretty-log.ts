import { prettyFactory } from 'pino-pretty';
import { escapeControls } from '../../domain/escape-controls.ts';
import { describeErr, formatRequestLine, type LoggedError, type RequestLine } from './request-line.ts';

/** Fields of every line that its text leaves out. */
const hidden = new Set(['level', 'time', 'pid', 'hostname', 'request_id', 'msg', 'err', 'error']);

/**
 * Creates the format of the log on a terminal. Each line is one line of text, except the details of an error at `debug`.
 *
 * @returns a function from a JSON line to the text to print, with its line break
 */
export function createPrettyFormat({ hasColors }: { hasColors: boolean }): (line: string) => string {
  const formatOther = prettyFactory({
    colorize: hasColors,
    translateTime: 'SYS:HH:MM:ss',
  });
  return (line) => {
    const fields = JSON.parse(line) as Record<string, unknown> & { msg?: string };
    const isRequest = fields.msg === 'request' || fields.msg === 'request failed';
    const text = isRequest
      ? `${formatRequestLine(fields as unknown as RequestLine, { hasColors })}\n`
      : formatOther({ level: fields['level'], time: fields['time'], msg: writeText(fields) });
    return escapeControls(text);
  };
}

/** Writes a value with its name: `queued 3`, `outage 17,527 ms`. */
function writeValue([name, value]: [string, unknown]): string {
  if (name.endsWith('_ms') && typeof value === 'number')
    return `${name.slice(0, -3).replaceAll('_', ' ')} ${value.toLocaleString('en-US')} ms`;
  return `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`;
}

/** Writes a message with its cause and its values: `ledger write failed: disk is full, queued 3`. */
function writeText({ msg, err, error, ...values }: Record<string, unknown>): string {
  if (msg === 'error details')
    return `${msg} of "${String(values['of'])}": ${(err as LoggedError).stack ?? describeErr(err as LoggedError)}`;
  const cause = err === undefined ? error : describeErr(err as LoggedError);
  const shown = Object.entries(values).filter(([name]) => !hidden.has(name));
  const parts = [cause, ...shown.map(writeValue)];
  const text = parts.filter((part) => part !== undefined).join(', ');
  return text === '' ? String(msg) : `${String(msg)}: ${text.replaceAll(/\s+/g, ' ')}`;
}
