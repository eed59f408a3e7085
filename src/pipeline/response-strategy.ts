import { type Chunk, isOutput } from '../domain/chunks.ts';
import type { GatewayError } from '../domain/errors.ts';
import type { AttemptOutcome } from '../routing/health.ts';
import { countResponseImages, itemsOf } from './response-images.ts';
import { type AttemptParts, attempt } from './attempt.ts';
import type { Run } from './run.ts';
import { hasPricedImages, measureAttempt, priceAt } from './attempt-cost.ts';
import type { AttemptStrategy } from './walk-plan.ts';

/** How an endpoint is asked for a response. */
export const createResponseStrategy = (parts: AttemptParts): AttemptStrategy<Run, Chunk> => ({
  attempt: (run, endpoint, limitBytes, out) => attempt(run, endpoint, { ...parts, limitBytes }, out),
  isShown: ({ request }, chunk) => (request.stream === true ? isOutput(chunk) : chunk.type === 'finish'),
  isKept: ({ type }) => type === 'debug',
  describeOutcome,
  measureFailed(run, endpoint, held) {
    const images = endpoint.image && countResponseImages(endpoint, itemsOf(held), run.sent.images);
    const usage = measureAttempt(
      run,
      held.reduce((sum, chunk) => sum + ('delta' in chunk ? chunk.delta.length : 0), 0),
      images && hasPricedImages(endpoint, images),
    );
    return usage && priceAt(run, endpoint, usage, images);
  },
  resetAttempt(run) {
    run.finish = undefined;
  },
});

/** What an attempt tells of its endpoint. */
function describeOutcome(run: Run, error: GatewayError | undefined): AttemptOutcome {
  const { request, dispatchedAt, firstOutputAt, upstreamEndedAt, finish } = run;
  if (error || dispatchedAt === undefined) return { atMs: Date.now(), error };
  return {
    atMs: Date.now(),
    error,
    // Of an answer that was asked for whole nobody knows when its first word was there.
    firstOutputMs: firstOutputAt === undefined || !request.stream ? undefined : firstOutputAt - dispatchedAt,
    durationMs: upstreamEndedAt === undefined ? undefined : upstreamEndedAt - dispatchedAt,
    outputTokens: finish?.usage?.outputTokens,
    toolCalls: finish?.reason === 'tool_calls' ? judgeToolCalls(run) : 'none',
  };
}

/** A call is broken whose arguments are no JSON, or whose tool nobody offered. @see routing.md section 6 */
function judgeToolCalls({ builder, hasLateTools, request: { tools = [] } }: Run): 'sound' | 'broken' {
  const names = new Set(tools.flatMap((tool) => ('name' in tool && typeof tool.name === 'string' ? [tool.name] : [])));
  const isOpen = hasLateTools || tools.length === 0 || tools.some(({ type }) => type === 'namespace');
  for (const item of builder?.items ?? []) {
    if (item.type !== 'function_call') continue;
    const { name, arguments: text } = item as { name?: unknown; arguments?: unknown };
    if (!isOpen && !names.has(String(name))) return 'broken';
    if (!isJson(String(text))) return 'broken';
  }
  return 'sound';
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
