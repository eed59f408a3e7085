import {
  type ScriptedResponse,
  json,
  type SseFrame,
  sse,
  stallBeforeHeaders,
} from '../../src/testing/scripted-responses.ts';
import type { ScriptedRequest } from '../../src/testing/scripted-upstream.ts';
import { type Call, cutWords, defaultCounts, type Turn } from './turn.ts';

/** The envelope of a provider that speaks `gemini`, as the recordings beside that wire have it. */
const tail = { modelVersion: 'gemini-2.5-flash', responseId: 'xK4eaZ3vO5mAkdUPz8eT2Ac' };
const headers = { 'server-timing': 'gfet4t7; dur=812' };

/** Writes a turn in the protocol of `generateContent`, streamed if the path says so. */
export function geminiResponse(turn: Turn, { path }: ScriptedRequest): ScriptedResponse {
  const isStream = path.includes(':streamGenerateContent');
  if (turn.fail) return failure(turn.fail);
  if (!isStream && turn.after) return stallBeforeHeaders();
  if (!isStream) {
    const candidate = { content: { parts: parts(turn), role: 'model' }, finishReason: finishReason(turn), index: 0 };
    return json({ candidates: [candidate], usageMetadata: usage(turn), ...tail }, { headers });
  }
  const answer = sse(frames(turn), { headers, done: false });
  return { ...answer, end: turn.after === 'silence' ? 'silence' : 'complete', pauseMs: turn.slowMs };
}

const states: Record<number, string> = { 400: 'INVALID_ARGUMENT', 429: 'RESOURCE_EXHAUSTED', 503: 'UNAVAILABLE' };

function failure({ status, message, retryAfterSeconds }: NonNullable<Turn['fail']>): ScriptedResponse {
  const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterSeconds}s` };
  const details = retryAfterSeconds === undefined ? undefined : { details: [retry] };
  return json(
    { error: { code: status, message, status: states[status] ?? 'INTERNAL', ...details } },
    { status, headers },
  );
}

type Part = Record<string, unknown>;

/** On this wire a signature is part of the part after the thought. */
function parts(turn: Turn): Part[] {
  const text = turn.text ?? turn.refusal;
  const signature = turn.encrypted ? { thoughtSignature: turn.encrypted } : undefined;
  const [first, ...others] = turn.calls ?? [];
  return [
    ...(turn.reasoning ? [{ text: turn.reasoning, thought: true }] : []),
    ...(text ? [{ text, ...(first ? undefined : signature) }] : []),
    ...(first ? [{ ...functionCall(first), ...signature }] : []),
    ...others.map(functionCall),
  ];
}

/** The gateway sends a custom tool as a function with one argument on this wire. */
const functionCall = ({ name, input }: Call): Part => ({
  functionCall: { name, args: typeof input === 'string' ? { input } : input },
});

function* frames(turn: Turn): Iterable<SseFrame> {
  const pieces = parts(turn).flatMap(({ text, thoughtSignature, ...rest }): Part[] =>
    typeof text === 'string'
      ? [
          ...cutWords(text).map((word) => ({ text: word, ...rest })),
          ...(thoughtSignature ? [{ text: '', thoughtSignature }] : []),
        ]
      : [{ ...rest, ...(thoughtSignature ? { thoughtSignature } : undefined) }],
  );
  const { promptTokenCount } = usage(turn);
  for (const part of pieces) {
    if (turn.after && part['functionCall']) break;
    yield {
      candidates: [{ content: { parts: [part], role: 'model' }, index: 0 }],
      usageMetadata: { promptTokenCount },
      ...tail,
    };
  }
  if (turn.after === 'failure') yield { error: { code: 500, message: 'The server had an error.', status: 'INTERNAL' } };
  if (turn.after) return;
  yield {
    candidates: [{ content: {}, finishReason: finishReason(turn), index: 0 }],
    usageMetadata: usage(turn),
    ...tail,
  };
}

function finishReason({ finish, refusal }: Turn): string {
  if (finish === 'length') return 'MAX_TOKENS';
  return finish === 'content_filter' || refusal ? 'SAFETY' : 'STOP';
}

/** This wire counts thoughts separately from the response. */
function usage({ usage: counts = defaultCounts }: Turn) {
  return {
    promptTokenCount: counts.input,
    cachedContentTokenCount: counts.cached,
    candidatesTokenCount: counts.output - counts.reasoning,
    thoughtsTokenCount: counts.reasoning,
    totalTokenCount: counts.input + counts.output,
  };
}
