import { afterEach, beforeEach, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { provider, wholeBody } from '../api/lab.ts';

/*
 * Claude Code sends the advisor of Anthropic as a tool, with every request once `/advisor` is set. Sources:
 * https://github.com/router-for-me/CLIProxyAPI/issues/5330, https://github.com/SaladDay/cc-switch-cli/issues/468,
 * https://github.com/decolua/9router/issues/2582
 */

let gateway: TestGateway;
let upstream: ScriptedUpstream;
beforeEach(async () => {
  upstream = await startUpstream();
  const at = (wire: 'openai-chat' | 'anthropic-messages') =>
    provider(wire, 'a', upstream, {
      models: [
        { model: `${wire}/small`, upstream_model: 'small' },
        { model: `${wire}/large`, upstream_model: 'large' },
      ],
    });
  gateway = await testGateway({ providers: [at('openai-chat'), at('anthropic-messages')] });
});
afterEach(() => Promise.all([gateway.close(), upstream.close()]));

type Fields = Record<string, unknown>;
const question = { role: 'user', content: 'Plan it.' };
const advisorOf = (model: string) => ({
  type: 'advisor_20260301',
  name: 'advisor',
  model,
  max_uses: 3,
  max_tokens: 700,
  caching: { type: 'ephemeral', ttl: '5m' },
});
const read = { name: 'Read', input_schema: { type: 'object', properties: {} } };

const send = (wire: string, advisor: string, messages: object[] = [question], more: object = {}) => {
  const body = { model: `${wire}/small`, max_tokens: 900, messages, tools: [advisorOf(advisor), read], ...more };
  return gateway.post('/messages', body, { headers: { 'anthropic-beta': 'advisor-tool-2026-03-01' } });
};

const callOfChat = json({
  ...wholeBody('openai-chat'),
  choices: [
    {
      index: 0,
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'router_advisor', arguments: '{}' } }],
      },
    },
  ],
});
const claude = (content: object[], reason: string) =>
  json({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'small',
    content,
    stop_reason: reason,
    stop_sequence: null,
    usage: { input_tokens: 9, output_tokens: 3 },
  });
const callOfClaude = claude([{ type: 'tool_use', id: 'toolu_1', name: 'router_advisor', input: {} }], 'tool_use');

const scripts = {
  'openai-chat': [callOfChat, json(wholeBody('openai-chat', 'Do B.')), json(wholeBody('openai-chat', 'Done.'))],
  'anthropic-messages': [
    callOfClaude,
    claude([{ type: 'text', text: 'Do B.' }], 'end_turn'),
    claude([{ type: 'text', text: 'Done.' }], 'end_turn'),
  ],
} as const;

it.each(Object.entries(scripts))('consults the model that the tool names, with %s', async (wire, answers) => {
  for (const answer of answers) upstream.respond(answer);
  const response = await send(wire, `${wire}/large`);
  expect(response.status).toBe(200);
  expect(response.headers.get('x-router-dropped-fields')).toMatch(/tools\[0\]\.max_uses, tools\[0\]\.caching$/);
  const { content } = (await response.json()) as { content: Fields[] };
  expect(content).toMatchObject([
    { type: 'server_tool_use', name: 'advisor' },
    { type: 'advisor_tool_result', content: { type: 'advisor_result', text: 'Do B.', stop_reason: null } },
    { type: 'text', text: 'Done.' },
  ]);
  expect(content[1]!['tool_use_id']).toBe(content[0]!['id']);
  const [first, second] = upstream.requests.map(({ body }) => body as Fields);
  expect(second).toMatchObject({ model: 'large' });
  expect(JSON.stringify(second)).toContain('Plan it.');
  expect(second!['max_completion_tokens'] ?? second!['max_tokens']).toBe(700);
  expect(JSON.stringify(first)).not.toContain('advisor_20260301');

  upstream.respond(answers[2]);
  const next = await send(wire, `${wire}/large`, [question, { role: 'assistant', content }, question]);
  expect(next.status).toBe(200);
  expect(JSON.stringify(upstream.requests.at(-1)!.body)).toContain('Do B.');
});

it('answers without advice if the gateway does not have its model', async () => {
  upstream.respond(callOfChat);
  upstream.respond(scripts['openai-chat'][2]);
  const response = await send('openai-chat', 'claude-unknown-9');
  expect(response.status).toBe(200);
  expect(((await response.json()) as { content: Fields[] }).content).toMatchObject([
    { type: 'server_tool_use', name: 'advisor' },
    { type: 'advisor_tool_result', content: { type: 'advisor_tool_result_error', error_code: 'unavailable' } },
    { type: 'text', text: 'Done.' },
  ]);
});

it('reads advice that a session got from Anthropic', async () => {
  const call = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'advisor', input: {} };
  const other = { ...call, id: 'srvtoolu_2' };
  const content = [
    call,
    { type: 'advisor_tool_result', tool_use_id: 'srvtoolu_1', content: { type: 'advisor_result', text: 'Do A.' } },
    other,
    {
      type: 'advisor_tool_result',
      tool_use_id: 'srvtoolu_2',
      content: { type: 'advisor_redacted_result', encrypted_content: 'c2VhbGVk' },
    },
    { type: 'text', text: 'Fine.' },
  ];
  upstream.respond(scripts['anthropic-messages'][2]);
  const response = await send('anthropic-messages', 'claude-unknown-9', [
    question,
    { role: 'assistant', content },
    question,
  ]);
  expect(response.status).toBe(200);
  const sent = JSON.stringify(upstream.requests[0]!.body);
  expect(sent).toContain('Do A.');
  expect(sent).not.toMatch(/advisor_tool_result|server_tool_use|c2VhbGVk/);
});

it('is part of a request whose tokens are counted', async () => {
  const body = { model: 'openai-chat/small', messages: [question], tools: [advisorOf('openai-chat/large')] };
  expect((await gateway.post('/messages/count_tokens', body)).status).toBe(200);
});
