import { Agent, hostedMcpTool, OpenAIResponsesModel, run, setTracingDisabled } from '@openai/agents';
import { createOpenAI } from '@ai-sdk/openai';
import { streamText } from 'ai';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startMcpServer } from '../tools/mcp-server.ts';
import { type BackEndKind, startBackEnd } from './back-end.ts';
import { openaiClient } from './openai-client.ts';

/* The clients of the compatible API with MCP servers that the gateway calls. */

setTracingDisabled(true);
const server = await startMcpServer();
const parts = { outbound: { allow: [new URL(server.url).host] } };
const kinds = ['openai-chat', 'anthropic-messages', 'gemini'] as const satisfies BackEndKind[];
const backEnds = await Promise.all(kinds.map((kind) => startBackEnd(kind, parts)));
afterAll(() => Promise.all([server.close(), ...backEnds.map((each) => each.close())]));
beforeEach(() => server.reset());

const echo = { name: 'demo__echo', input: { text: 'hello' } };
const script = [{ calls: [echo] }, { text: 'The server says hello.' }];
const demo = { type: 'mcp', server_label: 'demo', server_url: server.url } as const;

describe.each(backEnds)('with $kind', (backEnd) => {
  const client = openaiClient(backEnd);
  const model = new OpenAIResponsesModel(client, backEnd.model);

  it('the openai client streams calls, and approves one', async () => {
    const tools = [demo];
    const prompt = backEnd.script('Say hello.', script[0]!);
    const stream = client.responses.stream({ model: backEnd.model, input: prompt, tools });
    const types: string[] = [];
    stream.on('event', ({ type }) => void types.push(type));
    const asked = await stream.finalResponse();
    expect(types).toContain('response.mcp_list_tools.completed');
    const request = asked.output.find((item) => item.type === 'mcp_approval_request')!;
    expect(request).toMatchObject({ name: 'echo', server_label: 'demo' });

    backEnd.script('', script[1]!);
    const approved = await client.responses.create({
      model: backEnd.model,
      tools,
      input: [
        { role: 'user', content: prompt },
        ...(asked.output as ResponseInputItem[]), // its own types of output and input differ
        { type: 'mcp_approval_response', approval_request_id: request.id, approve: true },
      ],
    });
    expect(approved.output).toMatchObject([{ type: 'mcp_call', output: 'echo: hello' }, { type: 'message' }]);
    expect(approved.output_text).toBe('The server says hello.');
  });

  it('the Agents SDK runs an agent with a hosted server', async () => {
    const hosted = hostedMcpTool({ serverLabel: 'demo', serverUrl: server.url, requireApproval: 'never' });
    const agent = new Agent({ name: 'Helper', model, tools: [hosted] });
    const whole = await run(agent, backEnd.script('Say hello.', ...script));
    expect(whole.finalOutput).toBe('The server says hello.');
    expect(JSON.stringify(whole.output)).toContain('echo: hello');

    const streamed = await run(agent, backEnd.script('Say hello.', ...script), { stream: true });
    await streamed.completed;
    expect(streamed.finalOutput).toBe('The server says hello.');
  });

  it('the Agents SDK asks its user for approval', async () => {
    const hosted = hostedMcpTool({ serverLabel: 'demo', serverUrl: server.url, requireApproval: 'always' });
    const agent = new Agent({ name: 'Helper', model, tools: [hosted] });
    const paused = await run(agent, backEnd.script('Say hello.', script[0]!));
    expect(paused.interruptions).toHaveLength(1);
    expect(server.methods()).not.toContain('tools/call');

    paused.state.approve(paused.interruptions[0]!);
    backEnd.script('', script[1]!);
    const result = await run(agent, paused.state);
    expect(result.finalOutput).toBe('The server says hello.');
    expect(server.methods().filter((method) => method === 'tools/call')).toHaveLength(1);
  });

  it('the AI SDK reads the calls of a stream', async () => {
    const { gateway } = backEnd;
    const provider = createOpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key });
    const { mcp } = provider.tools;
    const result = streamText({
      model: provider.responses(backEnd.model),
      prompt: backEnd.script('Say hello.', ...script),
      tools: { mcp: mcp({ serverLabel: 'demo', serverUrl: server.url, requireApproval: 'never' }) },
      providerOptions: { openai: { store: false } },
    });
    expect(await result.text).toBe('The server says hello.');
    const calls = (await result.content).filter(({ type }) => type === 'tool-call' || type === 'tool-result');
    expect(calls.map(({ type }) => type)).toEqual(['tool-call', 'tool-result']);
    expect(JSON.stringify(calls)).toContain('echo: hello');
  });
});
