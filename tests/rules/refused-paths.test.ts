import { expect, it } from 'vitest';
import { json, startUpstream, testGateway } from '../../src/testing/index.ts';

/* A strict Responses server names a field of a tool that it does not know. Source: lidge-jun/opencodex#3204 */

const path = 'tools.0.search_content_types';
const done = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'one',
  output: [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hi.' }],
    },
  ],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
};

it.each([
  'This object contains an unsupported field.',
  `Unknown parameter: '${path}'.`,
])('a field of a tool that a server refuses is left out, and named: %s', async (message) => {
  const upstream = await startUpstream();
  const gateway = await testGateway({
    providers: [{ id: 'acme', wire: 'openai-responses', base_url: upstream.url, models: [{ model: 'acme/one' }] }],
  });
  try {
    upstream.respond(json({ error: { code: 'invalid_request', message, param: path } }, { status: 400 }));
    upstream.respond(json(done));
    const tools = [{ type: 'web_search', search_content_types: ['text', 'image'] }];
    const response = await gateway.post('/responses', { model: 'acme/one', input: 'Hi', tools });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-router-dropped-fields')).toContain('search_content_types');
    expect(upstream.requests.map(({ body }) => (body as { tools: object[] }).tools)).toEqual([
      tools,
      [{ type: 'web_search' }],
    ]);
  } finally {
    await gateway.close();
    await upstream.close();
  }
});
