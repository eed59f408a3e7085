import { setImmediate as nextTurn } from 'node:timers/promises';
import { json, type ScriptedResponse, stallBeforeHeaders } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { chatResponse } from '../clients/chat-responses.ts';
import { geminiResponse } from '../clients/gemini-responses.ts';
import { messagesResponse } from '../clients/messages-responses.ts';
import { responsesApiResponse } from '../clients/responses-api-responses.ts';
import type { Turn } from '../clients/turn.ts';
import { type HeldTool, holdTool } from './held-tool.ts';
import { type McpExchange, mcpText, type ScriptedMcpServer, startMcpServer } from './mcp-server.ts';
import { readSent } from './sent.ts';

/*
 * A run with every kind of work: several turns, parallel calls, a search, an MCP server, inner runs of a subagent, an
 * advisor and a fusion panel, and an image. Its client can disconnect at any event. At that moment all servers and the
 * tool of the test stop, so that the gateway has to end what is open. Also for bench/cancel.ts: it needs no test runner.
 */

const speakers = {
  'openai-chat': chatResponse,
  'openai-responses': responsesApiResponse,
  'anthropic-messages': messagesResponse,
  gemini: geminiResponse,
};
export type LongRunWire = keyof typeof speakers;
export const longRunWires = Object.keys(speakers) as LongRunWire[]; // the record names its keys

/** Work that others do for the run. */
export interface Activity {
  readonly what: 'outer model' | 'inner model' | 'image' | 'search' | 'mcp' | 'tool';
  /** How it ended, and when, as `performance.now()`. */
  readonly ended: Promise<{ how: 'aborted' | 'answered'; at: number }>;
}

/** A run up to the disconnect of its client, or to its end, after all of its work has ended. */
export interface PlayedRun {
  /** Number of events that the client has read. */
  readonly events: number;
  /** Their types. */
  readonly types: readonly string[];
  /** When the client disconnected, as `performance.now()`. Undefined: it read the whole stream. */
  readonly leftAt: number | undefined;
  readonly activities: readonly Activity[];
}

export interface LongRun {
  readonly gateway: TestGateway;
  /**
   * Sends the request. Waits until the gateway and all work for it have ended; without such an end, it never resolves.
   *
   * @param lastEvent the number of the event after which the client disconnects; absent: it reads to the end
   */
  play(wire: LongRunWire, session: string, lastEvent?: number): Promise<PlayedRun>;
  close(): Promise<void>;
}

interface Play {
  wire: LongRunWire;
  isFrozen: boolean;
  activities: Activity[];
}

const MARK = 'Do everything that you can.';
const TASK = 'Count the words.';
const ADVICE = 'Which way?';
const QUESTION = 'Why is the sky blue?';
const call = (name: string, input: object = {}) => ({ name, input });
const analysis = {
  consensus: ['It is blue.'],
  contradictions: [],
  partial_coverage: [],
  unique_insights: [],
  blind_spots: [],
};

/** The turns of the outer model, by the number of results that it has. */
const createTurns = (held: HeldTool): ReadonlyMap<number, Turn> =>
  new Map<number, Turn>([
    [
      0,
      {
        reasoning: 'I think first.',
        text: 'Let me look.',
        calls: [
          call('router_datetime'),
          call(held.name, { text: 'first' }),
          call('router_web_search', { query: 'heat pumps' }),
          call('docs__echo', { text: 'hello' }),
        ],
      },
    ],
    [
      4,
      {
        text: 'Now the others.',
        calls: [
          call('router_subagent', { task_name: 'count', task_description: TASK }),
          call('router_advisor', { prompt: ADVICE }),
          call(held.name, { text: 'second' }),
        ],
      },
    ],
    [7, { text: 'An image.', calls: [call('router_image_generation', { prompt: 'A red fox' })] }],
    [8, { text: 'A panel.', calls: [call('router_fusion', { prompt: QUESTION })] }],
    [9, { text: 'Everything is done.' }],
  ]);

function answerInner(wire: LongRunWire, request: ScriptedRequest): Turn {
  const { text } = request;
  if (text.includes('You compare the answers')) return { text: JSON.stringify(analysis) };
  if (text.includes(TASK)) {
    const hasTime = readSent(wire, request).results.length > 0;
    return hasTime ? { text: 'There are 3 words.' } : { text: 'The time first.', calls: [call('router_datetime')] };
  }
  return { text: text.includes(ADVICE) ? 'Go to the left.' : 'It scatters light.' };
}

function findWire({ path }: ScriptedRequest): LongRunWire {
  if (path.includes('/chat/completions')) return 'openai-chat';
  if (path.includes('/messages')) return 'anthropic-messages';
  return path.includes('enerateContent') ? 'gemini' : 'openai-responses';
}

/** USD per token: 1 per million of input, 10 per million of output. */
const pricing = { prompt: 0.000001, completion: 0.00001 };

export async function openLongRun(image: Buffer): Promise<LongRun> {
  const [models, painter, engine] = [await startUpstream(), await startUpstream(), await startUpstream()];
  const mcp = await startMcpServer();
  const held = holdTool('long_run');
  const gateway = await testGateway(writeConfig({ models, painter, engine, mcp, held }));
  const turns = createTurns(held);
  let playing: Play | undefined;

  const note = (what: Activity['what'], closed: Promise<'aborted' | 'answered'>): void => {
    const ended = closed.then((how) => ({ how, at: performance.now() }));
    playing?.activities.push({ what, ended });
  };
  /** Stops a response in the middle once the client has disconnected. */
  const pace = (response: ScriptedResponse): ScriptedResponse => {
    const play = playing!; // requests arrive only while a run plays
    async function* pieces(): AsyncIterable<Buffer> {
      for await (const piece of response.pieces()) {
        await nextTurn();
        if (play.isFrozen) return;
        yield piece;
      }
    }
    return {
      ...response,
      pieces,
      get end() {
        return play.isFrozen ? 'silence' : response.end;
      },
    };
  };
  const answer = (what: Activity['what'], request: ScriptedRequest, write: () => ScriptedResponse) => {
    note(what, request.closed);
    return playing!.isFrozen ? stallBeforeHeaders() : pace(write());
  };
  models.always((request) => {
    const wire = findWire(request);
    const isOuter = request.text.includes(MARK);
    const turn = isOuter ? turns.get(readSent(wire, request).results.length)! : answerInner(wire, request);
    return answer(isOuter ? 'outer model' : 'inner model', request, () => speakers[wire](turn, request));
  });
  painter.always((request) =>
    answer('image', request, () => json({ created: 1, data: [{ b64_json: image.toString('base64') }] })),
  );
  engine.always((request) =>
    answer('search', request, () =>
      json({ results: [{ url: 'https://pumps.example/', title: 'Pumps', text: 'They heat.' }] }),
    ),
  );
  mcp.always('tools/call', (exchange) => void callMcp(exchange));
  async function callMcp({ response, result }: McpExchange): Promise<void> {
    const play = playing!;
    const closed = new Promise<'aborted' | 'answered'>((resolve) =>
      response.once('close', () => resolve(response.writableFinished ? 'answered' : 'aborted')),
    );
    note('mcp', closed);
    await nextTurn();
    if (!play.isFrozen) result(mcpText('echo: hello'));
  }
  async function runTool(): Promise<never> {
    for (;;) {
      const { signal, finish } = await held.next();
      const play = playing!;
      const { promise, resolve } = Promise.withResolvers<'aborted' | 'answered'>();
      note('tool', promise);
      signal.addEventListener('abort', () => resolve('aborted'));
      void (async () => {
        for (let turn = 0; turn < 5; turn++) await nextTurn();
        if (play.isFrozen) return;
        resolve('answered');
        finish({ heard: true });
      })();
    }
  }
  void runTool();

  return {
    gateway,
    async play(wire, session, lastEvent = Number.POSITIVE_INFINITY) {
      const play: Play = { wire, isFrozen: false, activities: [] };
      playing = play;
      const client = new AbortController();
      const response = await gateway.post(
        '/responses',
        { ...writeRequest(wire, held), session_id: session },
        { signal: client.signal },
      );
      if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
      const { types, hasLeft } = await readEvents(response, lastEvent);
      if (hasLeft) play.isFrozen = true;
      const leftAt = hasLeft ? performance.now() : undefined;
      if (hasLeft) client.abort();
      while ((await countOpen(gateway)) > 0) await nextTurn();
      for (let known = -1; known !== play.activities.length; ) {
        known = play.activities.length; // requests that were on their way can still arrive
        await Promise.all(play.activities.map(({ ended }) => ended));
      }
      return { events: types.length, types, leftAt, activities: play.activities };
    },
    async close() {
      await gateway.close();
      held.close();
      await mcp.close();
      for (const upstream of [models, painter, engine]) await upstream.close();
    },
  };
}

/** Number of requests that the gateway serves. */
async function countOpen(gateway: TestGateway): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const names = ['headgate_open_requests', 'headgate_open_streams'];
  return names.reduce((sum, name) => sum + Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)![1]), 0);
}

/** Reads up to an event. The rest of the stream is not read. */
async function readEvents(response: Response, lastEvent: number): Promise<{ types: string[]; hasLeft: boolean }> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const types: string[] = [];
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { types, hasLeft: false };
    const frames = (rest + value).split('\n\n');
    rest = frames.pop()!; // a split has at least one piece
    for (const frame of frames) {
      const type = /^data: \{"type":"([^"]+)"/.exec(frame)?.[1];
      if (type !== undefined) types.push(type);
    }
    if (types.length > lastEvent) return { types, hasLeft: true };
  }
}

function writeRequest(wire: LongRunWire, held: HeldTool) {
  return {
    model: `acme/${wire}`,
    input: MARK,
    stream: true,
    tools: [
      { type: 'router:datetime' },
      { type: held.type },
      { type: 'router:web_search', parameters: { engine: 'exa' } },
      { type: 'mcp', server_label: 'docs' },
      { type: 'router:subagent', parameters: { tools: [{ type: 'router:datetime' }] } },
      { type: 'router:advisor', parameters: { stream: true } },
      { type: 'router:image_generation', parameters: { model: 'painter/m' } },
      {
        type: 'router:fusion',
        parameters: { analysis_models: ['acme/openai-chat', 'acme/gemini'], model: `acme/${wire}`, tools: [] },
      },
    ],
  };
}

interface Servers {
  models: ScriptedUpstream;
  painter: ScriptedUpstream;
  engine: ScriptedUpstream;
  mcp: ScriptedMcpServer;
  held: HeldTool;
}

function writeConfig({ models, painter, engine, mcp, held }: Servers) {
  const providers = longRunWires.map((wire) => ({
    id: wire,
    wire,
    base_url: models.url,
    api_key: 'upstream-key-of-a-test',
    ...(wire === 'openai-responses' && { dialect: { native_mcp: false, native_search: false, native_images: false } }),
    models: [{ model: `acme/${wire}`, upstream_model: 'claude-sonnet-4-5', pricing }],
  }));
  const painting = {
    id: 'painter',
    wire: 'openai-images',
    base_url: painter.url,
    api_key: 'key-of-the-painter',
    models: [{ model: 'painter/m', image: { pricing: [{ billable: 'output_image', unit: 'image', cost_usd: 1 }] } }],
  };
  return {
    providers: [...providers, painting],
    outbound: { allow: [new URL(mcp.url).host] },
    mcp: { servers: { docs: { url: mcp.url, require_approval: 'never' } } },
    tools: {
      modules: [held.path],
      web_search: { engines: { exa: { driver: 'exa', base_url: engine.url, api_key: 'key-of-the-engine' } } },
    },
  };
}
