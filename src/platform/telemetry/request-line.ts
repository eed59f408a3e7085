import { styleText } from 'node:util';
import { formatUsd } from '../../domain/format-usd.ts';

/**
 * A request, with the field names of the log.
 *
 * @see createRequestLog
 */
export interface RequestLine {
  time: number;
  /** Only of a failure. */
  generation_id?: string;
  status: number;
  worker?: number;
  cancelled?: boolean;
  duration_ms?: number;
  /** Only for a run. */
  requested_model?: string;
  model?: string | null;
  provider?: string | null;
  outcome?: string;
  error_type?: string | null;
  /** The cause of a failure. */
  error?: string;
  /** The cause of a failure of the gateway. */
  err?: LoggedError;
  failed_attempts?: { model: string; provider: string; status: number }[];
  input_tokens?: number;
  output_tokens?: number;
  cost_usd?: number | null;
  estimated?: boolean;
  /** Only for any other response. */
  method?: string;
  route?: string;
}

type Style = 'dim' | 'green' | 'yellow' | 'red';

/** Writes a request as one short line for people, without a line break. */
export function formatRequestLine(line: RequestLine, { hasColors }: { hasColors: boolean }): string {
  const paint = (style: Style, text: string): string =>
    hasColors && text !== '' ? styleText(style, text, { validateStream: false }) : text;
  const { time, status, worker, duration_ms: durationMs, input_tokens: input = 0, output_tokens: output = 0 } = line;
  const parts = [
    paint('dim', formatTime(time)),
    paint(status < 400 ? 'green' : status < 500 ? 'yellow' : 'red', String(status)),
    line.requested_model === undefined ? `${line.method} ${line.route}` : formatRoute(line),
    paint('yellow', formatFallback(line)),
    paint('red', formatError(line)),
    line.cancelled || line.outcome === 'cancelled' ? paint('yellow', 'cancelled') : '',
    durationMs === undefined ? '' : `${count(durationMs)} ms`,
    input + output === 0 ? '' : `${count(input)}+${count(output)} tokens`,
    paint('dim', formatCost(line)),
    status < 500 ? '' : paint('dim', line.generation_id ?? ''),
    worker === undefined ? '' : paint('dim', `worker ${worker}`),
  ];
  return parts.filter((part) => part !== '').join('  ');
}

/** `requested -> model -> provider`, each only if it adds something. */
export function formatRoute({ requested_model: requested = '', model, provider }: RequestLine): string {
  const steps = [requested, model === requested ? null : model, provider];
  return steps.flatMap((step) => (step ? step.replaceAll(/\s+/g, ' ') : [])).join(' -> ');
}

function formatFallback({ failed_attempts: failed = [] }: RequestLine): string {
  if (failed.length === 0) return '';
  const counts = new Map<string, number>();
  for (const { provider, status } of failed) {
    const name = `${provider} ${status}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const [first, ...others] = [...counts].map(([name, times]) => (times === 1 ? name : `${name} x${times}`));
  const more = others.length > 2 ? [...others.slice(0, 2), `${others.length - 2} more`] : others;
  return `(after ${[first, ...more].join(', ')})`;
}

const MAX_ERROR_LENGTH = 300;

/** Writes the cause of a failure if the log knows it, otherwise its type. */
function formatError({ error, err, error_type: type }: RequestLine): string {
  const cause = err === undefined ? error : describeErr(err);
  const text = cause?.replaceAll(/\s+/g, ' ').replace(/\.$/, '') ?? type ?? '';
  return text.length > MAX_ERROR_LENGTH ? `${text.slice(0, MAX_ERROR_LENGTH)}…` : text;
}

/** An error in a line of the log. */
export interface LoggedError {
  type?: string;
  message?: string;
  stack?: string;
}

/** Writes an error as one line: its message, and for a defect of code the place of the defect. */
export function describeErr({ type, message = '', stack }: LoggedError): string {
  const at = stack?.split('\n').find((line) => line.trimStart().startsWith('at '));
  const text = message === '' ? (type ?? '') : message;
  return `${text.replaceAll(/\s+/g, ' ')}${at === undefined ? '' : ` (${at.trim()})`}`;
}

/** Writes the cost. A failed run usually costs nothing, so it has no text. */
function formatCost({ cost_usd: cost, estimated, model, status }: RequestLine): string {
  if (cost === undefined || !model || (status >= 400 && !cost)) return '';
  if (cost === null) return 'no price';
  return `${estimated ? '~' : ''}${formatUsd(cost)}`;
}

const formatTime = (ms: number): string => new Date(ms).toTimeString().slice(0, 8);
const count = (value: number): string => Math.round(value).toLocaleString('en-US');
