import { styleText } from 'node:util';
import { prettyFactory } from 'pino-pretty';
import { escapeControls } from '../../domain/escape-controls.ts';
import { formatUsd } from '../../domain/format-usd.ts';

/** A line of the request log, read back from JSON. @see createRequestLog */
interface RequestLine {
  time: number;
  msg: string;
  status: number;
  worker?: number;
  cancelled?: boolean;
  duration_ms?: number;
  /** Of a run. */
  requested_model?: string;
  model?: string | null;
  provider?: string | null;
  outcome?: string;
  error_type?: string | null;
  failed_attempts?: { model: string; provider: string; status: number }[];
  input_tokens?: number;
  output_tokens?: number;
  cost_usd?: number | null;
  estimated?: boolean;
  /** Of any other answer. */
  method?: string;
  route?: string;
}

type Style = 'dim' | 'green' | 'yellow' | 'red';
type Paint = (style: Style, text: string) => string;

/**
 * Creates the format of the log on a terminal: a request is one short line, everything else is as `pino-pretty` writes it.
 *
 * @returns a function from a JSON line to the text to print, with its line break
 */
export function createPrettyFormat({ hasColors }: { hasColors: boolean }): (line: string) => string {
  const paint: Paint = (style, text) =>
    hasColors && text !== '' ? styleText(style, text, { validateStream: false }) : text;
  const formatOther = prettyFactory({
    colorize: hasColors,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname,request_id',
    singleLine: true,
  });
  return (line) => {
    const fields = JSON.parse(line) as { msg?: string };
    const text = fields.msg === 'request' ? formatRequest(fields as RequestLine, paint) : formatOther(fields);
    return escapeControls(text);
  };
}

function formatRequest(line: RequestLine, paint: Paint): string {
  const { time, status, worker, duration_ms: durationMs, input_tokens: input = 0, output_tokens: output = 0 } = line;
  const parts = [
    paint('dim', formatTime(time)),
    paint(status < 400 ? 'green' : status < 500 ? 'yellow' : 'red', String(status)),
    line.requested_model === undefined ? `${line.method} ${line.route}` : formatRoute(line),
    paint('yellow', formatFallback(line)),
    paint('red', line.error_type ?? ''),
    line.cancelled || line.outcome === 'cancelled' ? paint('yellow', 'cancelled') : '',
    durationMs === undefined ? '' : `${count(durationMs)} ms`,
    input + output === 0 ? '' : `${count(input)}+${count(output)} tokens`,
    paint('dim', formatCost(line)),
    worker === undefined ? '' : paint('dim', `worker ${worker}`),
  ];
  return `${parts.filter((part) => part !== '').join('  ')}\n`;
}

/** `requested -> model -> provider`, each only if it adds something. */
function formatRoute({ requested_model: requested = '', model, provider }: RequestLine): string {
  const steps = [requested, model === requested ? null : model, provider];
  return steps.flatMap((step) => (step ? step.replaceAll(/\s+/g, ' ') : [])).join(' -> ');
}

function formatFallback({ failed_attempts: failed = [] }: RequestLine): string {
  if (failed.length === 0) return '';
  const [first, ...others] = failed.map(({ provider, status }) => `${provider} ${status}`);
  const more = others.length > 2 ? [...others.slice(0, 2), `${others.length - 2} more`] : others;
  return `(after ${[first, ...more].join(', ')})`;
}

/** A run without an answer costs nothing, which is not worth a word. */
function formatCost({ cost_usd: cost, estimated, model }: RequestLine): string {
  if (cost === undefined || !model) return '';
  if (cost === null) return 'no price';
  return `${estimated ? '~' : ''}${formatUsd(cost)}`;
}

const formatTime = (ms: number): string => new Date(ms).toTimeString().slice(0, 8);
const count = (value: number): string => Math.round(value).toLocaleString('en-US');
