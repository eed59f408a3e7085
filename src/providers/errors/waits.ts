import type { UpstreamErrorResponse } from '../wire.ts';

type Headers = UpstreamErrorResponse['headers'];

/**
 * Reads whole seconds, rounded up, from the header that the provider uses; undefined if there is none.
 *
 * @param nowMs the current time, for a `retry-after` that is a date
 */
export function readRetryAfter(headers: Headers, nowMs: number): number | undefined {
  const exactMs = Number.parseFloat(single(headers['retry-after-ms']));
  if (exactMs >= 0) return Math.ceil(exactMs / 1000);
  const after = single(headers['retry-after']);
  if (after !== '') {
    const seconds = readDuration(after) ?? (Date.parse(after) - nowMs) / 1000;
    if (!Number.isNaN(seconds)) return Math.max(0, Math.ceil(seconds));
  }
  const waits: number[] = [];
  const spent: number[] = [];
  for (const name in headers) {
    const isClaude = /^anthropic-ratelimit-.*-reset$/.test(name);
    if (!isClaude && !name.startsWith('x-ratelimit-reset')) continue;
    const seconds = readReset(single(headers[name]), nowMs);
    if (seconds === undefined) continue;
    const isRejected = single(headers[name.replace(/reset$/, 'status')]) === 'rejected';
    if (isRejected || single(headers[name.replace('reset', 'remaining')]) === '0') spent.push(seconds);
    else if (!isClaude) waits.push(seconds); // Claude names every window, also those with room
  }
  // The exhausted limits count. If none is marked as exhausted, the longest wait is safe.
  const longest = Math.max(...(spent.length > 0 ? spent : waits));
  return Number.isFinite(longest) ? Math.max(0, Math.ceil(longest)) : undefined;
}

const single = (header: string | string[] | undefined): string => (Array.isArray(header) ? header[0] : header) ?? '';

/** Reads the reset of a limit: a duration or a time (epoch in seconds or milliseconds, or a date). */
function readReset(text: string, nowMs: number): number | undefined {
  const seconds = readDuration(text);
  if (seconds === undefined) {
    const at = Date.parse(text);
    return Number.isNaN(at) ? undefined : (at - nowMs) / 1000;
  }
  if (seconds > 1e12) return (seconds - nowMs) / 1000;
  return seconds > 1e9 ? seconds - nowMs / 1000 : seconds;
}

const units: Record<string, number> = { d: 86_400, h: 3600, m: 60, s: 1, ms: 0.001 };

/** `20`, `1.5s`, `6m0s`, `120ms` → seconds. */
export function readDuration(text: string): number | undefined {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text);
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[dhms]))+$/.test(text)) return undefined;
  let seconds = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g))
    seconds += Number(amount) * units[unit!]!;
  return seconds;
}

/**
 * OpenAI and Groq write `try again in 1m2.5s`, Google `retry in 29.1s`, Azure `retry after 26 seconds`, GitHub
 * `wait 42 seconds`, OpenCode `resets in 3hr 56min`, and gateways `reset after 2m 13s`: NousResearch/hermes-agent#76225.
 */
const spokenWait =
  /(?:try again|retry|wait|resets?|available|available again)(?: in| after| for)? ((?:\d+(?:\.\d+)? ?(?:ms|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|[dhms])(?![a-z])[ ,]*)+)/i;

/** Reads a wait from a message, in whole seconds. Inside a stream there is no header. */
export function readSpokenWait(message: string): number | undefined {
  const spoken = spokenWait.exec(message)?.[1];
  if (spoken === undefined) return undefined;
  let seconds = 0;
  for (const [, amount, unit] of spoken.matchAll(/(\d+(?:\.\d+)?) ?(ms|[dhms])/gi))
    seconds += Number(amount) * units[unit!.toLowerCase()]!;
  return Math.ceil(seconds);
}
