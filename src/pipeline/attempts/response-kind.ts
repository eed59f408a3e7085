import { type Chunk, isOutput } from '../../domain/chunks.ts';
import { GatewayError } from '../../domain/errors.ts';
import { isJson } from '../../domain/is-json.ts';
import type { AttemptOutcome } from '../../routing/health.ts';
import { createTextAttempt, type TextAttempt } from '../run/attempt.ts';
import { judgeFormat } from './judge-format.ts';
import { measureAttempt } from '../accounting/attempt-cost.ts';
import { attemptText } from './attempt-text.ts';
import { itemsOf } from '../accounting/response-images.ts';
import type { ResponsePipeline } from '../response-pipeline.ts';
import type { Run } from '../run/run.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { PoorEnd, RunKind } from '../run/run-kind.ts';
import type { ToolCall } from '../run/step.ts';
import { findOtherWire } from './wire-fallback.ts';

/** A run that produces a response. */
export const responseKind: RunKind<Run, TextAttempt, Chunk, ResponsePipeline> = {
  createAttempt: createTextAttempt,
  attempt: attemptText,
  findOtherWire,
  isOutput: ({ request }, chunk) => request.stream === true && isOutput(chunk), // a buffered response is passed on at its end
  isKept: ({ type }) => type === 'debug',
  judgeEnd,
  describeOutcome,
  canLearn,
  remember,
  measureFailed: (run, attempt, held) => measureAttempt(run, attempt, itemsOf(held)),
};

/** @see docs/reference/routing.md#learned-rules */
function canLearn({ learnsRules }: ResponsePipeline, attempt: TextAttempt, { lesson }: GatewayError): boolean {
  if (!lesson || !learnsRules()) return false;
  if (lesson.wire !== undefined && ![lesson.wire].flat().includes(attempt.wire.id)) return false;
  if (attempt.lessons.some(({ name }) => name === lesson.name)) return false; // the refusal has another cause
  return lesson.fields?.some((field) => attempt.sentFields.includes(field)) ?? true;
}

function remember(attempt: TextAttempt): void {
  const { endpoint, wire, lessons } = attempt;
  const { provider, upstreamModel, rulesOf = upstreamModel } = endpoint;
  attempt.learned = lessons.flatMap((lesson) => (lesson.isOnce ? [] : (provider.learn(wire, rulesOf, lesson) ?? [])));
}

/**
 * Judges an end without output, or with JSON that may not match its format. The cause of an empty end is a filter of the
 * provider, or unknown. A response that ends at its limit may have used it for hidden reasoning.
 */
function judgeEnd(run: Run, attempt: TextAttempt, held: Chunk[]): MaybePromise<PoorEnd | undefined> {
  const { finish, endpoint } = attempt;
  const { name } = endpoint.provider;
  if (!finish || finish.reason === 'length') return undefined;
  if (finish.reason === 'content_filter') {
    if (held.some((chunk) => isOutput(chunk) && !isReasoning(chunk))) return undefined;
    const failure = new GatewayError('content_policy', `${name} filtered the whole response.`, { retryable: true });
    return { failure, isAnswer: true };
  }
  if (held.some(isOutput)) return finish.reason === 'stop' ? judgeFormat(attempt, held) : undefined;
  const hasCounted = (finish.usage?.outputTokens ?? 0) > 0;
  const isLater = run.steps.length > 1;
  // A model may have nothing to add to the results of its calls.
  if ((hasCounted || isLater) && run.input.read().at(-1)?.type?.endsWith('_output')) return undefined;
  const failure = new GatewayError('upstream_failed', `${name} returned an empty response.`, {
    retryable: true,
    isTransient: !hasCounted,
  });
  return { failure, isAnswer: hasCounted || isLater };
}

const isReasoning = (chunk: Chunk): boolean =>
  chunk.type.startsWith('reasoning') || (chunk.type === 'item_done' && chunk.item.type === 'reasoning');

/** Returns the outcome of an attempt, for the health of its endpoint. */
function describeOutcome(run: Run, attempt: TextAttempt): AttemptOutcome {
  const { error, dispatchedAt, firstOutputAt, endedAt, finish } = attempt;
  if (error || dispatchedAt === undefined) return { atMs: Date.now(), error };
  return {
    atMs: Date.now(),
    error,
    // A buffered response does not show when its first output was ready.
    firstOutputMs: firstOutputAt === undefined || !run.request.stream ? undefined : firstOutputAt - dispatchedAt,
    durationMs: endedAt === undefined ? undefined : endedAt - dispatchedAt,
    outputTokens: finish?.usage?.outputTokens,
    toolCalls: finish?.reason === 'tool_calls' ? judgeToolCalls(run, attempt) : 'none',
  };
}

/** Characters of arguments that are checked. */
const MAX_CHECKED = 4 * 1024 * 1024;

/** Whether arguments are JSON. Longer ones count as JSON, because the check takes up to 5 ms per MiB. */
const isSoundJson = (text: string): boolean => text.length > MAX_CHECKED || isJson(text);

/**
 * A call is broken if its arguments are not JSON, or if its tool was not offered.
 *
 * @see docs/reference/routing.md#quality
 */
function judgeToolCalls({ builder, steps, request, toolLoop }: Run, { hasLateTools }: TextAttempt): 'sound' | 'broken' {
  const { tools = [] } = request;
  const { firstItem, toolCalls } = steps.at(-1)!; // the step of the attempt
  const isSound = ({ name, arguments: text }: ToolCall) => isSoundJson(text) && toolLoop?.offers(name) === true;
  if (!toolCalls.every(isSound)) return 'broken';
  const names = new Set(tools.flatMap((tool) => ('name' in tool && typeof tool.name === 'string' ? [tool.name] : [])));
  const isOpen = hasLateTools || tools.length === 0 || tools.some(({ type }) => type === 'namespace');
  for (const item of builder?.items.slice(firstItem) ?? []) {
    if (item.type !== 'function_call') continue;
    const { name, arguments: text } = item as { name?: unknown; arguments?: unknown };
    if (!isOpen && !names.has(String(name))) return 'broken';
    if (!isSoundJson(String(text))) return 'broken';
  }
  return 'sound';
}
