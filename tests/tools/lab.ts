import type { ResponseEvent } from '../../src/domain/events.ts';
import type { OutputItem } from '../../src/domain/items.ts';
import type { ResponseObject } from '../../src/domain/response.ts';
import type { ScriptedResponse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type RequestOptions, type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { checkEvents } from '../api/check-events.ts';
import { chatResponse } from '../clients/chat-responses.ts';
import { geminiResponse } from '../clients/gemini-responses.ts';
import { messagesResponse } from '../clients/messages-responses.ts';
import { responsesApiResponse } from '../clients/responses-api-responses.ts';
import type { Turn } from '../clients/turn.ts';

/* A gateway whose models follow a script, for tests of server tools on every wire. */

export const speakers = {
  'openai-chat': chatResponse,
  'openai-responses': responsesApiResponse,
  'anthropic-messages': messagesResponse,
  gemini: geminiResponse,
  'ai-sdk': responsesApiResponse, // through @ai-sdk/openai
} satisfies Record<string, (turn: Turn, request: ScriptedRequest) => ScriptedResponse>;
export type WireName = keyof typeof speakers;
export const wireNames = Object.keys(speakers) as WireName[]; // the record names its keys
export const modes = ['buffered', 'streamed'] as const;
export type Mode = (typeof modes)[number];

/** The end of a response. */
export interface Served {
  status: number;
  /** The response object, or the body of the error. */
  body: ResponseObject & { error: { message: string; metadata?: Record<string, unknown> } | null };
  /** Empty for a buffered response. */
  events: ResponseEvent[];
}

export interface ToolLab {
  readonly gateway: TestGateway;
  /** Two servers for each model, in the order of attempts. */
  readonly upstreams: readonly [ScriptedUpstream, ScriptedUpstream];
  /** Scripts the next turns of a server. */
  script(wire: WireName, ...turns: Turn[]): void;
  scriptOther(wire: WireName, ...turns: Turn[]): void;
  /** Scripts every turn of the first server that has no other script. */
  always(wire: WireName, next: () => Turn): void;
  /** Scripts every turn that has no other script, by its request. */
  answer(next: (request: ScriptedRequest, wire: WireName) => Turn): void;
  /** Sends a request, and checks the events of a stream. */
  respond(wire: WireName, mode: Mode, request?: object, options?: RequestOptions): Promise<Served>;
  /** Returns the requests at the first server since the last call. */
  takeRequests(): ScriptedRequest[];
  /** Applies other parts of the configuration. Its providers stay. */
  reload(parts: Record<string, unknown>): Promise<void>;
  close(): Promise<void>;
}

/** USD per token: 1 per million of input, 10 per million of output. */
const pricing = { prompt: 0.000001, completion: 0.00001 };

/**
 * @param parts of the configuration. Its providers are added to those of the lab
 * @param dialects of the providers of a wire
 * @param ports of the gateway
 * @param capabilities of the models. Absent: unknown
 */
export async function openToolLab(
  parts: Record<string, unknown> = {},
  dialects: Partial<Record<WireName, object>> = {},
  ports: Parameters<typeof testGateway>[2] = {},
  capabilities?: object,
): Promise<ToolLab> {
  const upstreams = [await startUpstream(), await startUpstream()] as const;
  const providers = wireNames.flatMap((wire) =>
    upstreams.map((upstream, at) => ({
      id: `${wire}-${at}`,
      wire,
      base_url: upstream.url,
      api_key: 'upstream-key-of-a-test',
      ...(wire === 'ai-sdk' && { package: '@ai-sdk/openai' }),
      ...(dialects[wire] && { dialect: dialects[wire] }),
      models: [
        {
          model: `acme/${wire}`,
          upstream_model: 'claude-sonnet-4-5',
          pricing,
          ...(capabilities && { capabilities }),
        },
      ],
    })),
  );
  const { providers: others = [] } = parts as { providers?: object[] };
  const gateway = await testGateway({ ...parts, providers: [...providers, ...others] }, undefined, ports);
  let taken = 0;
  const script = (upstream: ScriptedUpstream, wire: WireName, turns: readonly Turn[]): void => {
    for (const turn of turns) upstream.respond((request) => speakers[wire](turn, request));
  };
  return {
    gateway,
    upstreams,
    script: (wire, ...turns) => script(upstreams[0], wire, turns),
    scriptOther: (wire, ...turns) => script(upstreams[1], wire, turns),
    always: (wire, next) => upstreams[0].always((request) => speakers[wire](next(), request)),
    answer(next) {
      for (const upstream of upstreams) {
        upstream.always((request) => {
          const wire = findWire(request);
          return speakers[wire](next(request, wire), request);
        });
      }
    },
    async respond(wire, mode, request = {}, options = {}) {
      const body = {
        model: `acme/${wire}`,
        input: 'What is the time?',
        provider: { order: upstreams.map((_, at) => `${wire}-${at}`) },
        ...request,
      };
      const how = { ...options, headers: { 'x-router-metadata': 'enabled', ...options.headers } };
      if (mode === 'buffered') {
        const response = await gateway.post('/responses', body, how);
        return { status: response.status, body: (await response.json()) as Served['body'], events: [] };
      }
      const { status, events, text } = await gateway.stream(body, how);
      if (status !== 200) return { status, body: JSON.parse(text) as Served['body'], events };
      checkEvents(events);
      const { response } = events.at(-1) as unknown as { response: Served['body'] };
      return { status, body: response, events };
    },
    takeRequests() {
      const fresh = upstreams[0].requests.slice(taken);
      taken += fresh.length;
      return fresh;
    },
    reload: (next) => gateway.reload({ ...next, providers: [...providers, ...others] }),
    async close() {
      await gateway.close();
      for (const upstream of upstreams) await upstream.close();
    },
  };
}

/** Returns the wire that sends to the path of a request. */
function findWire({ path }: ScriptedRequest): WireName {
  if (path.includes('/chat/completions')) return 'openai-chat';
  if (path.includes('/messages')) return 'anthropic-messages';
  return path.includes('enerateContent') ? 'gemini' : 'openai-responses';
}

/** Items other than reasoning. */
export const shownItems = ({ body }: Served): OutputItem[] => body.output.filter(({ type }) => type !== 'reasoning');

/** The stage of server tools in the metadata. */
export const stageOf = ({ body }: Served) =>
  body.router_metadata?.pipeline?.find(({ type }) => type === 'server_tools')?.data;

export const call = (name: string, input: object = {}) => ({ name, input });
