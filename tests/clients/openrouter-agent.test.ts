import { type ConversationState, OpenRouter, serverTool, type StateAccessor, type Tool, tool } from '@openrouter/agent';
import { HTTPClient } from '@openrouter/sdk/lib/http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type ScriptedMcpServer, startMcpServer } from '../tools/mcp-server.ts';
import { type BackEnd, startBackEnd } from './back-end.ts';

/*
 * The agent toolkit of OpenRouter: functions of the client and tools of the gateway in one conversation of several
 * requests. Its server tools have a prefix of their own, which a fetcher renames, as docs/guides/clients.md shows.
 */

let engine: ScriptedUpstream;
let mcp: ScriptedMcpServer;
let backEnd: BackEnd;
beforeAll(async () => {
  mcp = await startMcpServer();
  engine = await startUpstream();
  engine.always(json({ results: [{ url: 'https://pumps.example/', title: 'Pumps', text: 'They heat.' }] }));
  const exa = { driver: 'exa', base_url: engine.url, api_key: 'key-of-the-engine' };
  backEnd = await startBackEnd('openai-chat', {
    tools: { web_search: { engines: { exa } } },
    outbound: { allow: [new URL(mcp.url).host] },
  });
});
afterAll(async () => {
  await backEnd.close();
  await engine.close();
  await mcp.close();
});

const weather = tool({
  name: 'get_weather',
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `It is sunny in ${city}.`,
});
const asking = { text: 'Now the weather.', calls: [{ name: 'get_weather', input: { city: 'Bern' } }] };
const answering = { text: 'It is sunny.' };
const again = { text: 'As I said.' };

/** Names server tools as the gateway does, and their items as the client does. */
async function renameTools(input: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  const sent = (await request.text()).replaceAll('"type":"openrouter:', '"type":"router:');
  const response = await fetch(request.url, {
    method: 'POST',
    headers: request.headers,
    body: sent,
    signal: request.signal,
  });
  let rest = '';
  const lines = new TransformStream<string, string>({
    transform(text, out) {
      const end = (rest + text).lastIndexOf('\n') + 1;
      out.enqueue((rest + text).slice(0, end).replaceAll('"type":"router:', '"type":"openrouter:'));
      rest = (rest + text).slice(end);
    },
    flush: (out) => out.enqueue(rest.replaceAll('"type":"router:', '"type":"openrouter:')),
  });
  const body = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(lines)
    .pipeThrough(new TextEncoderStream());
  return new Response(body ?? null, response);
}

function keepState(): StateAccessor {
  let stored: ConversationState | null = null;
  return {
    load: async () => stored,
    save: async (next) => {
      stored = next;
    },
  };
}

/** Asks two questions in one conversation. @returns the texts, and the items of all events */
async function converse(tools: readonly Tool[], isStreamed: boolean, isRenamed: boolean, first: string) {
  const client = new OpenRouter({
    serverURL: backEnd.gateway.baseUrl,
    apiKey: backEnd.gateway.key,
    retryConfig: { strategy: 'none' },
    ...(isRenamed && { httpClient: new HTTPClient({ fetcher: renameTools }) }),
  });
  const state = keepState();
  const items: { type: string; [field: string]: unknown }[] = [];
  const texts: string[] = [];
  for (const input of [first, 'And now?']) {
    const result = client.callModel({ model: backEnd.model, input, tools, state });
    if (isStreamed) {
      for await (const event of result.getFullResponsesStream()) {
        if (event.type === 'response.output_item.done') items.push(event.item as unknown as (typeof items)[number]);
      }
    }
    texts.push(await result.getText());
  }
  return { texts, items };
}

type SentMessage = { role: string; content: unknown; tool_calls?: { function: { name: string } }[] };
const takeMessages = () => backEnd.takeUpstreamBodies().map(({ messages }) => messages as SentMessage[]);
const callsOf = (messages: SentMessage[]) =>
  messages.flatMap(({ tool_calls: calls = [] }) => calls.map((each) => each.function.name));
const resultsOf = (messages: SentMessage[]) =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));

describe.each([false, true])('streamed: %s', (isStreamed) => {
  it('uses the search of the gateway beside a function', async () => {
    backEnd.takeUpstreamBodies();
    const searching = { calls: [{ name: 'router_web_search', input: { query: 'heat pumps' } }] };
    const prompt = backEnd.script('Pumps and weather?', searching, asking, answering, again);
    const tools = [weather, serverTool({ type: 'web_search_2025_08_26', engine: 'exa', maxResults: 3 })];
    const { texts, items } = await converse(tools, isStreamed, false, prompt);

    expect(texts).toEqual([answering.text, again.text]);
    const sent = takeMessages();
    expect(sent).toHaveLength(4);
    expect(resultsOf(sent[1]!)).toEqual([expect.stringContaining('https://pumps.example/')]);
    expect(callsOf(sent[3]!)).toContain('get_weather');
    expect(resultsOf(sent[3]!)).toContainEqual(expect.stringContaining('sunny'));
    if (isStreamed)
      expect(items).toContainEqual(expect.objectContaining({ type: 'web_search_call', status: 'completed' }));
  });

  it('uses other tools of the gateway with a fetcher that renames them', async () => {
    backEnd.takeUpstreamBodies();
    const looking = { calls: [{ name: 'router_datetime', input: {} }] };
    const prompt = backEnd.script('Time and weather?', looking, asking, answering, again);
    const tools = [weather, serverTool({ type: 'openrouter:datetime', parameters: { timezone: 'Europe/Zurich' } })];
    const { texts, items } = await converse(tools, isStreamed, true, prompt);

    expect(texts).toEqual([answering.text, again.text]);
    const sent = takeMessages();
    expect(sent).toHaveLength(4);
    expect(resultsOf(sent[1]!)).toEqual([expect.stringContaining('Europe/Zurich')]);
    expect(callsOf(sent[3]!)).toEqual(['router_datetime', 'get_weather']); // the client sends the items back
    if (isStreamed) {
      expect(items).toContainEqual(expect.objectContaining({ type: 'openrouter:datetime', timezone: 'Europe/Zurich' }));
    }
  });
});

it('uses an MCP server through the gateway', async () => {
  const echoing = { calls: [{ name: 'demo__echo', input: { text: 'hello' } }] };
  const prompt = backEnd.script('Echo?', echoing, answering);
  const client = new OpenRouter({ serverURL: backEnd.gateway.baseUrl, apiKey: backEnd.gateway.key });
  const server = { serverLabel: 'demo', serverUrl: mcp.url, requireApproval: 'never' } as const;
  const tools = [serverTool({ type: 'mcp', ...server })];
  expect(await client.callModel({ model: backEnd.model, input: prompt, tools }).getText()).toBe(answering.text);
  expect(mcp.methods()).toContain('tools/call');
});

it('gets a 400 for a tool with a prefix that the gateway does not know', async () => {
  const prompt = backEnd.script('Time?', answering);
  const tools = [serverTool({ type: 'openrouter:datetime' })];
  await expect(converse(tools, false, false, prompt)).rejects.toMatchObject({ statusCode: 400 });
});
