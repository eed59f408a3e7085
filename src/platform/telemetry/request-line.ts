import { styleText } from 'node:util';
import { formatUsd } from '../../domain/format-usd.ts';

/**
 * A request, with the field names of the log.
 *
 * @see createRequestLog
 */
export interface RequestLine {
  time: number;
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
    paint('red', line.error_type ?? ''),
    line.cancelled || line.outcome === 'cancelled' ? paint('yellow', 'cancelled') : '',
    durationMs === undefined ? '' : `${count(durationMs)} ms`,
    input + output === 0 ? '' : `${count(input)}+${count(output)} tokens`,
    paint('dim', formatCost(line)),
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
  const [first, ...others] = failed.map(({ provider, status }) => `${provider} ${status}`);
  const more = others.length > 2 ? [...others.slice(0, 2), `${others.length - 2} more`] : others;
  return `(after ${[first, ...more].join(', ')})`;
}

/** Writes the cost. A run without a response costs nothing, so it has no text. */
function formatCost({ cost_usd: cost, estimated, model }: RequestLine): string {
  if (cost === undefined || !model) return '';
  if (cost === null) return 'no price';
  return `${estimated ? '~' : ''}${formatUsd(cost)}`;
}

const formatTime = (ms: number): string => new Date(ms).toTimeString().slice(0, 8);
const count = (value: number): string => Math.round(value).toLocaleString('en-US');
