import { createId, timedPrefix } from '../../src/domain/ids.ts';
import type { LedgerEntry } from '../../src/domain/ledger-entry.ts';
import type { RequestHistory } from '../../src/domain/request-history.ts';
import { createTestEntry } from '../../src/platform/storage/contract/samples.ts';

/** A model at a provider, with its price in nano-dollars per token. */
interface Place {
  model: string;
  provider: string;
  input: number;
  output: number;
  /** Milliseconds until the first output, about. */
  firstMs: number;
}

const places: readonly Place[] = [
  { model: 'openai/gpt-5-mini', provider: 'OpenAI', input: 250, output: 2000, firstMs: 480 },
  { model: 'anthropic/claude-sonnet-5', provider: 'Anthropic', input: 3000, output: 15_000, firstMs: 820 },
  { model: 'google/gemini-3-flash', provider: 'Google', input: 300, output: 2500, firstMs: 390 },
  { model: 'mistralai/mistral-large', provider: 'Mistral', input: 2000, output: 6000, firstMs: 560 },
  { model: 'anthropic/claude-sonnet-5', provider: 'Bedrock', input: 3000, output: 15_000, firstMs: 1100 },
];
const failures = [
  { status: 429, errorType: 'rate_limit_exceeded', message: 'The provider limits requests per minute.' },
  { status: 529, errorType: 'overloaded', message: 'Overloaded. Please retry later.' },
  { status: 500, errorType: 'server_error', message: 'The server had an error while processing the request.' },
  { status: 504, errorType: 'timeout', message: 'No output arrived within 60 seconds.' },
];
const members = ['ada', 'ben', 'chloe', null];
const tags = [{ team: 'search' }, { team: 'support' }, { team: 'growth' }, undefined];

export interface BusyDay {
  workspaces: readonly string[];
  keyHashes: readonly string[];
  count: number;
  /** The time of the last request, in Unix milliseconds. */
  untilMs: number;
  /** The length of the day, in milliseconds. */
  lengthMs: number;
  /** A text that callers control, such as a hostile session id. */
  sessionId?: string;
}

/** Creates the requests of a busy day, the same ones each time: some fall back, some fail, some call tools. */
export function createBusyDay({ workspaces, keyHashes, count, untilMs, lengthMs, sessionId }: BusyDay): LedgerEntry[] {
  const random = createRandom(7);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() ** 1.6 * list.length)]!;
  return Array.from({ length: count }, (_, at) => {
    // More requests in the middle of the day than at its ends.
    const share = (count - at - random()) / count;
    const createdAtMs = Math.round(untilMs - lengthMs * (share - 0.12 * Math.sin(2 * Math.PI * share)));
    const place = pick(places);
    const failure = random() < 0.06 ? pick(failures) : undefined;
    const isFailed = failure !== undefined && random() < 0.5;
    const inputTokens = Math.round(200 + random() ** 3 * 24_000);
    const outputTokens = isFailed ? 0 : Math.round(20 + random() ** 2 * 1800);
    const cachedTokens = random() < 0.4 ? Math.round(inputTokens * random() * 0.9) : 0;
    const firstMs = Math.round(place.firstMs * (0.6 + random()));
    const lostMs = failure ? Math.round(120 + random() * 900) : 0;
    const durationMs = lostMs + firstMs + outputTokens * 9;
    const inputCost = isFailed ? 0n : BigInt(Math.round((inputTokens - cachedTokens * 0.9) * place.input));
    const outcome = isFailed ? 'failed' : random() < 0.02 ? 'cancelled' : random() < 0.03 ? 'incomplete' : 'completed';
    return createTestEntry({
      id: createId(timedPrefix('gen-', createdAtMs)),
      createdAtMs,
      workspaceId: pick(workspaces),
      keyHash: pick(keyHashes),
      memberId: pick(members),
      requestedModel: place.model,
      model: isFailed ? null : place.model,
      provider: isFailed ? null : place.provider,
      providerId: isFailed ? null : place.provider.toLowerCase(),
      endpointId: isFailed ? null : `${place.model}@${place.provider.toLowerCase()}`,
      outcome,
      status: isFailed ? failure.status : 200,
      errorType: isFailed ? failure.errorType : null,
      inputTokens: isFailed ? 0 : inputTokens,
      cachedTokens: isFailed ? 0 : cachedTokens,
      cacheWriteTokens: 0,
      outputTokens,
      reasoningTokens: Math.round(outputTokens * 0.3),
      costNanoUsd: inputCost + BigInt(outputTokens * place.output),
      inputCostNanoUsd: inputCost,
      firstOutputMs: isFailed ? null : lostMs + firstMs,
      durationMs,
      sessionId: sessionId ?? `session-${Math.floor(random() * 40)}`,
      tags: pick(tags),
      history: JSON.stringify(createHistory({ place, failure, isFailed, lostMs, firstMs, durationMs, random })),
    });
  });
}

function createHistory({
  place,
  failure,
  isFailed,
  lostMs,
  firstMs,
  durationMs,
  random,
}: {
  place: Place;
  failure: (typeof failures)[number] | undefined;
  isFailed: boolean;
  lostMs: number;
  firstMs: number;
  durationMs: number;
  random: () => number;
}): RequestHistory {
  const endpoint = (provider: string) => ({
    id: `${place.model}@${provider.toLowerCase()}`,
    model: place.model,
    provider,
    providerId: provider.toLowerCase(),
  });
  const lost = failure && {
    endpoint: endpoint(isFailed ? place.provider : 'Azure'),
    key: 'AZURE_API_KEY',
    status: failure.status,
    errorType: failure.errorType,
    message: failure.message,
    upstreamRequestId: 'req_8f2c61d0',
    startMs: 3,
    durationMs: lostMs,
  };
  const served = {
    ...(failure ? { endpoint: endpoint(place.provider) } : { line: 0 }),
    key: `${place.provider.toUpperCase()}_API_KEY`,
    status: 200,
    startMs: lostMs + 4,
    firstByteMs: firstMs,
    durationMs: durationMs - lostMs - 4,
  };
  const hasTool = !isFailed && random() < 0.08;
  return {
    ...(isFailed ? { message: failure?.message } : {}),
    attempts: [...(lost ? [lost] : []), ...(isFailed ? [] : [served])],
    ...(hasTool
      ? { tools: [{ tool: 'router:web_search', step: 1, outcome: 'ok', startMs: lostMs + firstMs, durationMs: 640 }] }
      : {}),
    ...(random() < 0.1
      ? {
          stages: [
            {
              type: 'guardrail',
              name: 'content-filter',
              summary: 'Redacted 2 email addresses.',
              guardrail_scope: 'workspace',
              data: { email: 2 },
            },
          ],
        }
      : {}),
  };
}

/** A generator of numbers from 0 to 1 that are the same in every run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
