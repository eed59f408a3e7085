import { setTimeout as delay } from 'node:timers/promises';
import { vi } from 'vitest';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
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

/** A gateway and the model behind it, which does what the test says. */
export interface BackEnd {
  readonly kind: BackEndKind;
  /** What the protocol behind it can say. */
  readonly can: { reportRefusals: boolean; countReasoning: boolean };
  readonly gateway: TestGateway;
  /** The slug to ask for. */
  readonly model: string;
  /** What the model says to the next requests, in order. @returns the prompt to ask it with */
  script(prompt: string, ...turns: Turn[]): string;
  /** The bodies that arrived at the provider since the last call; none at the simulator, which is none. */
  takeUpstreamBodies(): Record<string, unknown>[];
  /** The next request that the provider has, or already has, since the last call of this or of the above. */
  nextUpstreamRequest(): Promise<ScriptedRequest>;
  /** Undefined at the simulator. */
  readonly upstream: ScriptedUpstream | undefined;
  close(): Promise<void>;
}

/** 1 USD per million input tokens, 10 for output, 0.1 for what was cached. */
const pricing = { prompt: 0.000001, completion: 0.00001, cache_read: 0.0000001 };

/** Where each wire asks, and how a turn is said there. */
const doors = {
  'openai-chat': { path: '/v1/chat/completions', answer: chatResponse },
  'openai-responses': { path: '/v1/responses', answer: responsesApiResponse },
  'anthropic-messages': { path: '/v1/messages', answer: messagesResponse },
  gemini: { path: '/v1/models/', answer: geminiResponse },
  'ai-sdk': { path: '/v1/responses', answer: responsesApiResponse }, // through @ai-sdk/openai
} as const;

/** Claude's thoughts are summaries; those of unknown models are not. */
function upstreamModelOf(kind: BackEndKind): string {
  if (kind === 'simulator') return 'echo';
  return kind === 'anthropic-messages' ? 'claude-sonnet-4-5' : 'gpt-5-mini';
}

/** @param parts of the gateway's configuration, besides its provider */
export async function startBackEnd(kind: BackEndKind, parts: Record<string, unknown> = {}): Promise<BackEnd> {
  const upstream = kind === 'simulator' ? undefined : await startUpstream();
  const model = kind === 'simulator' ? 'simulator/echo' : 'openai/gpt-5-mini';
  const provider = {
    id: kind,
    wire: kind,
    ...(kind === 'ai-sdk' && { package: '@ai-sdk/openai' }),
    ...(upstream && { base_url: upstream.url, api_key: 'upstream-key-of-a-test' }),
    models: [{ model, upstream_model: upstreamModelOf(kind), pricing }],
  };
  const gateway = await testGateway({ ...parts, providers: [provider] });
  let turns: Turn[] = [];
  upstream?.always(async (request) => {
    if (kind === 'simulator' || !request.path.startsWith(doors[kind].path))
      throw new Error(`The gateway asked at ${request.path}.`);
    const turn = turns.shift();
    if (!turn) throw new Error('The gateway asked more often than the test says.');
    if (turn.waitMs) await delay(turn.waitMs);
    return doors[kind].answer(turn, request);
  });
  let taken = 0;
  return {
    kind,
    can: {
      reportRefusals: kind !== 'anthropic-messages' && kind !== 'gemini' && kind !== 'ai-sdk',
      countReasoning: kind !== 'anthropic-messages',
    },
    gateway,
    model,
    upstream,
    script(prompt, ...next) {
      turns = next;
      return kind === 'simulator' ? writePrompt(prompt, next) : prompt;
    },
    takeUpstreamBodies() {
      const fresh = upstream?.requests.slice(taken) ?? [];
      taken += fresh.length;
      return fresh.map(({ body }) => body as Record<string, unknown>); // the gateway writes objects
    },
    async nextUpstreamRequest() {
      const request = await vi.waitFor(() => upstream?.requests[taken] ?? Promise.reject(new Error('None yet.')), {
        timeout: 15_000,
      });
      taken++;
      return request;
    },
    async close() {
      await gateway.close();
      await upstream?.close();
    },
  };
}

/** One back end of each kind, and a watch that no client speaks to anyone else. */
export async function startBackEnds(parts: Record<string, unknown> = {}) {
  const traffic = watchTraffic();
  const all = await Promise.all(backEndKinds.map((kind) => startBackEnd(kind, parts)));
  return {
    all,
    /** @throws when a request went to another place than this machine */
    async close(): Promise<void> {
      await Promise.all(all.map((backEnd) => backEnd.close()));
      traffic.stop();
      if (traffic.strangers.length > 0) throw new Error(`A client called out: ${traffic.strangers.join(', ')}.`);
    },
  };
}
