import { createCatalog } from '../../src/catalog/catalog.ts';
import type { Caller } from '../../src/domain/caller.ts';
import { Cancellation } from '../../src/domain/cancellation.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import type { ResponseEvent } from '../../src/domain/events.ts';
import type { LedgerEntry } from '../../src/domain/ledger-entry.ts';
import type { ResponseRequest } from '../../src/domain/request.ts';
import type { ResponseObject } from '../../src/domain/response.ts';
import { createResponse } from '../../src/pipeline/create-response.ts';
import { createRun } from '../../src/pipeline/run/create-run.ts';
import { createRetryParts } from '../../src/pipeline/steps/endpoint-queue.ts';
import type { ResponsePipeline } from '../../src/pipeline/response-pipeline.ts';
import type { Run } from '../../src/pipeline/run/run.ts';
import type { ServerTools, ToolLoop } from '../../src/pipeline/run/server-tools.ts';
import { wires } from '../../src/providers/index.ts';
import { bareEndpoint, createProvider, type Endpoint } from '../../src/providers/provider.ts';
import { createRoutingContext } from '../../src/routing/routing-context.ts';
import type { ScriptedResponse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { chatResponse } from '../clients/chat-responses.ts';
import { geminiResponse } from '../clients/gemini-responses.ts';
import { messagesResponse } from '../clients/messages-responses.ts';
import { responsesApiResponse } from '../clients/responses-api-responses.ts';
import type { Turn } from '../clients/turn.ts';

/*
 * The pipeline with real providers and without HTTP: for features that no configuration can turn on, such as a
 * reviser or a tool of a test.
 */

const speakers = {
  'openai-chat': chatResponse,
  'openai-responses': responsesApiResponse,
  'anthropic-messages': messagesResponse,
  gemini: geminiResponse,
} satisfies Record<string, (turn: Turn, request: ScriptedRequest) => ScriptedResponse>;
export type WireName = keyof typeof speakers;
export const wireNames = Object.keys(speakers) as WireName[]; // the record names its keys
export const modes = ['buffered', 'streamed'] as const;
export type Mode = (typeof modes)[number];

export const caller: Caller = { keyHash: 'h', keyName: 'k', kind: 'member', workspaceId: 'w', memberId: 'ada' };
const pricing = { promptNanoUsdPerMillion: 1_000_000_000, completionNanoUsdPerMillion: 10_000_000_000 };
export const model = 'acme/one';

/** The server tools of runs that all have the same loop. It runs every call unless `owns` says otherwise. */
export const serverToolsOf = (loop: Partial<ToolLoop> & Pick<ToolLoop, 'run'>): ServerTools => ({
  open: () => ({
    settings: {},
    use: { requested: 0, executed: 0 },
    calls: [],
    owns: () => true,
    choose: () => true,
    offers: () => true,
    callsMcp: () => false,
    resume: () => undefined,
    adapt: (request) => request,
    isNative: () => false,
    reviser: { open: (_run, out) => ({ write: (chunks) => out.write(chunks), abandon() {} }) },
    ...loop,
  }),
  replay: (_run, input) => ({ input: [...input], dropped: [] }),
});

export interface PipelineLab {
  /** Servers of the model, in the order of attempts. */
  readonly upstreams: readonly ScriptedUpstream[];
  /** The ledger entries, oldest first. */
  readonly entries: LedgerEntry[];
  readonly pipeline: ResponsePipeline;
  /** Scripts the turns of a server, one for each request. */
  script(wire: WireName, at: number, ...turns: Turn[]): void;
  respond(wire: WireName, mode: Mode, request?: Partial<ResponseRequest>, cancellation?: Cancellation): Promise<Served>;
  close(): Promise<void>;
}

/** The output for the client, and the run. */
export interface Served {
  run: Run;
  events: ResponseEvent[];
  /** The response of the last event; undefined if the run failed before the first event. */
  response: ResponseObject | undefined;
  /** The error of a run that failed before its first event. */
  error: GatewayError | undefined;
}

/**
 * @param servers number of servers of the model
 * @param otherWires that the servers may speak instead of the one of a request
 */
export async function openPipelineLab(
  servers = 1,
  parts: Partial<ResponsePipeline> = {},
  otherWires: readonly WireName[] = [],
): Promise<PipelineLab> {
  const upstreams = await Promise.all(Array.from({ length: servers }, startUpstream));
  const entries: LedgerEntry[] = [];
  const worlds = new Map(
    wireNames.map((wire) => [wire, createRoutingContext(createCatalog(endpointsOf(wire, upstreams, otherWires)))]),
  );
  let world = worlds.get('openai-chat')!;
  const pipeline: ResponsePipeline = {
    routingContext: () => world,
    maxAttempts: () => 5,
    retry: createRetryParts(),
    inspectors: [],
    plugins: [],
    record: (entry) => void entries.push(entry),
    hashEndUser: () => '',
    region: () => 'local',
    learnsRules: () => true,
    upstreamBodyLimit: () => 1_000_000,
    ...parts,
  };
  return {
    upstreams,
    entries,
    pipeline,
    script(wire, at, ...turns) {
      for (const turn of turns) upstreams[at]!.respond((request) => speakers[wire](turn, request));
    },
    async respond(wire, mode, request = {}, cancellation = new Cancellation()) {
      world = worlds.get(wire)!;
      const run = createRun(pipeline, {
        request: {
          input: [{ type: 'message', role: 'user', content: 'What is the weather?' }],
          model,
          provider: { order: upstreams.map((_, at) => `server-${at}`) },
          ...(pipeline.plugins.length > 0 && { plugins: pipeline.plugins.map(({ id }) => ({ id })) }),
          ...request,
          stream: mode === 'streamed',
        },
        caller,
        generationId: 'gen-1',
        cancellation,
        metadata: true,
        ignoredFields: [],
        clamped: [],
      });
      const events: ResponseEvent[] = [];
      let error: GatewayError | undefined;
      try {
        await createResponse(pipeline, run, { write: (batch) => void events.push(...batch) });
      } catch (thrown) {
        if (!(thrown instanceof GatewayError)) throw thrown;
        error = thrown;
      }
      const last = events.at(-1) as { response?: ResponseObject } | undefined;
      return { run, events, response: last?.response, error };
    },
    async close() {
      for (const upstream of upstreams) await upstream.close();
    },
  };
}

const endpointsOf = (
  wire: WireName,
  upstreams: readonly ScriptedUpstream[],
  otherWires: readonly WireName[],
): Endpoint[] =>
  upstreams.map((upstream, at) => {
    const provider = createProvider({
      id: `server-${at}`,
      name: `Server ${at}`,
      wire: wires.get(wire)!,
      otherWires: otherWires.map((other) => wires.get(other)!),
      baseUrl: upstream.url,
      apiKeys: ['secret'],
      headers: {},
      dialect: {},
      timeouts: { connectMs: 5000, firstByteMs: 5000, idleMs: 5000, totalMs: 10_000 },
    });
    return { ...bareEndpoint(provider, model, 'm'), pricing };
  });
