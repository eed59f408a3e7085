import { setTimeout as delay } from 'node:timers/promises';
import { vi } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type Refusal, type StrictProvider, strictProviders } from '../../src/testing/strict/index.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { sameAs } from '../rules/strict-lab.ts';
import { chatResponse } from './chat-responses.ts';
import { geminiResponse } from './gemini-responses.ts';
import { watchTraffic } from './loopback.ts';
import { messagesResponse } from './messages-responses.ts';
import { responsesApiResponse } from './responses-api-responses.ts';
import { writePrompt } from './simulator-prompt.ts';
import type { Turn } from './turn.ts';

export const backEndKinds = [
  'simulator',
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'gemini',
  'ai-sdk',
] as const;
export type BackEndKind = (typeof backEndKinds)[number];

/** A gateway and a scripted model behind it. */
export interface BackEnd {
  /** The id of the provider. */
  readonly id: string;
  readonly kind: BackEndKind;
  /** The features of its protocol. */
  readonly can: { reportRefusals: boolean; countReasoning: boolean };
  readonly gateway: TestGateway;
  /** The slug of the model. */
  readonly model: string;
  /** Scripts the next turns of the model, in order. @returns the prompt to send */
  script(prompt: string, ...turns: Turn[]): string;
  /** Returns the bodies that arrived at the provider since the last call; none for the simulator. */
  takeUpstreamBodies(): Record<string, unknown>[];
  /** Returns the next request at the provider since the last call of this function or the one above. */
  nextUpstreamRequest(): Promise<ScriptedRequest>;
  /** Undefined for the simulator. */
  readonly upstream: ScriptedUpstream | undefined;
  /** Requests that a strict provider has refused so far. */
  readonly refusals: readonly Refusal[];
  close(): Promise<void>;
}

/** USD per million tokens: 1 for input, 10 for output, 0.1 for cached input. */
const pricing = { prompt: 0.000001, completion: 0.00001, cache_read: 0.0000001 };

/** The path of each wire, and the response for a turn. */
const doors = {
  'openai-chat': { path: '/v1/chat/completions', answer: chatResponse },
  'openai-responses': { path: '/v1/responses', answer: responsesApiResponse },
  'anthropic-messages': { path: '/v1/messages', answer: messagesResponse },
  gemini: { path: '/v1/models/', answer: geminiResponse },
  'ai-sdk': { path: '/v1/responses', answer: responsesApiResponse }, // through @ai-sdk/openai
} as const;

/** Whether a request counts tokens. It is no turn of the model. */
export const isCount = ({ path }: ScriptedRequest): boolean =>
  /^\/v1\/(?:messages\/count_tokens|responses\/input_tokens|models\/.*:countTokens)$/.test(path);

/** Claude's thoughts are summaries; those of unknown models are not. Unknown models take every setting. */
function upstreamModelOf(kind: BackEndKind): string {
  if (kind === 'simulator') return 'echo';
  return kind === 'anthropic-messages' ? 'claude-sonnet-4-5' : 'model-without-rules';
}

/** @param parts of the configuration, in addition to the provider */
export const startBackEnd = (kind: BackEndKind, parts: Record<string, unknown> = {}): Promise<BackEnd> =>
  startScripted(kind, parts, {});

/** Opens a back end whose model refuses what a real server refuses. */
export const startStrictBackEnd = (strict: StrictProvider): Promise<BackEnd> =>
  startScripted(strict.wire, {}, { strict });

async function startScripted(
  kind: BackEndKind,
  parts: Record<string, unknown>,
  { strict }: { strict?: StrictProvider },
): Promise<BackEnd> {
  const upstream = kind === 'simulator' ? undefined : await startUpstream();
  const model = kind === 'simulator' ? 'simulator/echo' : 'openai/gpt-5-mini';
  const refusals: Refusal[] = [];
  const provider = {
    id: strict?.id ?? kind,
    ...(strict && sameAs(strict)),
    wire: kind,
    ...(kind === 'ai-sdk' && { package: '@ai-sdk/openai' }),
    ...(upstream && { base_url: upstream.url, api_key: 'upstream-key-of-a-test' }),
    models: [{ model, upstream_model: strict?.model ?? upstreamModelOf(kind), pricing }],
  };
  const gateway = await testGateway({ ...parts, providers: [provider] });
  let turns: Turn[] = [];
  upstream?.always(async (request) => {
    if (isCount(request)) return json({ input_tokens: 64, totalTokens: 64 });
    if (kind === 'simulator' || !request.path.startsWith(doors[kind].path))
      throw new Error(`The gateway asked at ${request.path}.`);
    const refusal = strict?.check(request.body, request.path);
    if (refusal) {
      refusals.push(refusal);
      return json(refusal.body, { status: refusal.status });
    }
    const turn = turns.shift();
    if (!turn) throw new Error('The gateway asked more often than the test says.');
    if (turn.waitMs) await delay(turn.waitMs);
    return doors[kind].answer(turn, request);
  });
  let taken = 0;
  return {
    id: provider.id,
    kind,
    can: {
      reportRefusals: kind !== 'anthropic-messages' && kind !== 'gemini' && kind !== 'ai-sdk',
      countReasoning: kind !== 'anthropic-messages',
    },
    gateway,
    model,
    upstream,
    refusals,
    script(prompt, ...next) {
      turns = next;
      return kind === 'simulator' ? writePrompt(prompt, next) : prompt;
    },
    takeUpstreamBodies() {
      const fresh = upstream?.requests.slice(taken) ?? [];
      taken += fresh.length;
      return fresh.filter((request) => !isCount(request)).map(({ body }) => body as Record<string, unknown>); // the gateway writes objects
    },
    async nextUpstreamRequest() {
      const request = await vi.waitFor(() => upstream?.requests[taken] ?? Promise.reject(new Error('None yet.')));
      taken++;
      return request;
    },
    async close() {
      await gateway.close();
      await upstream?.close();
    },
  };
}

/** Strict servers for coding agents: one of each wire, and chat servers whose rules differ most. */
const agentIds = ['azure-responses', 'anthropic-opus', 'gemini', 'mistral', 'deepseek', 'moonshot'];

/** Opens a back end for each strict server that coding agents are tested with. */
export async function startStrictBackEnds() {
  const all = await Promise.all(
    strictProviders.filter(({ id }) => agentIds.includes(id)).map((strict) => startStrictBackEnd(strict)),
  );
  return { all, close: () => Promise.all(all.map((backEnd) => backEnd.close())) };
}

/** Opens one back end of each kind, and checks that no client sends requests elsewhere. */
export async function startBackEnds(parts: Record<string, unknown> = {}) {
  const traffic = watchTraffic();
  const all = await Promise.all(backEndKinds.map((kind) => startBackEnd(kind, parts)));
  return {
    all,
    /** @throws if a request left this machine */
    async close(): Promise<void> {
      await Promise.all(all.map((backEnd) => backEnd.close()));
      traffic.stop();
      if (traffic.strangers.length > 0) throw new Error(`A client called out: ${traffic.strangers.join(', ')}.`);
    },
  };
}
