import { afterAll, beforeAll, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(({ body }: ScriptedRequest) => {
    const message = { role: 'assistant', tool_calls: [{ index: 0, ...call('{"filter_name":"b"}') }] };
    const choice = { index: 0, finish_reason: 'tool_calls' };
    return (body as { stream?: boolean }).stream
      ? sse([{ choices: [{ ...choice, delta: message }] }], { done: true })
      : json({ choices: [{ ...choice, message }] });
  });
  gateway = await testGateway({
    providers: [
      { id: 'proxy', wire: 'openai-chat', base_url: upstream.url, models: [{ model: 'anthropic/claude-sonnet-4.5' }] },
    ],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const call = (args: string) => ({ id: 'c1', type: 'function', function: { name: 'find', arguments: args } });
const schema = { type: 'object', properties: { 'filter[name]': { type: 'string' } }, required: ['filter[name]'] };
const args = '{"filter[name]":"a","id":12345678901234567890}';

// https://github.com/decocms/studio/issues/6874
it.each([
  [
    '/chat/completions',
    `{"tools":[{"type":"function","function":{"name":"find","parameters":${JSON.stringify(schema)}}}],"messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[${JSON.stringify(call(args))}]},{"role":"tool","tool_call_id":"c1","content":"None."}]`,
  ],
  [
    '/responses',
    `{"tools":[{"type":"function","name":"find","parameters":${JSON.stringify(schema)}}],"input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"c1","name":"find","arguments":${JSON.stringify(args)}},{"type":"function_call_output","call_id":"c1","output":"None."}]`,
  ],
  [
    '/messages',
    `{"max_tokens":50,"tools":[{"name":"find","input_schema":${JSON.stringify(schema)}}],"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"find","input":${args}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"None."}]}]`,
  ],
])('a proxy of Claude gets names of parameters that Claude takes, and a client of %s its own', async (path, body) => {
  for (const stream of [false, true]) {
    const response = await gateway.post(path, `${body},"model":"anthropic/claude-sonnet-4.5","stream":${stream}}`);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('filter[name]');
    const { text } = upstream.requests.at(-1)!;
    expect(text).not.toContain('filter[name]');
    expect(text).toContain('"required":["filter_name"]');
    expect(text).toContain(JSON.stringify('{"filter_name":"a","id":12345678901234567890}'));
  }
});
