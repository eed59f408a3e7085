import { afterAll, beforeAll, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { withoutNulls } from '../interface/walk-fields.ts';
import { complaint, provider, type WireName, wholeBody } from './lab.ts';

/* Typed clients send null for every field that was not set. The checks at the schemas have tests of their own. */

let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startUpstream();
  const twice = (wire: WireName) =>
    ['first', 'second'].map((name) =>
      provider(wire, name, upstream, { models: [{ model: wire, upstream_model: 'm' }] }),
    );
  gateway = await testGateway({
    providers: [...twice('openai-responses'), ...twice('openai-chat')],
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

/** More than 64 KiB, so that the input is parked while a provider works, and parsed again for the next one. */
const long = 'word '.repeat(20_000);

const bodies: [api: string, wire: WireName, path: string, body: object][] = [
  [
    'responses',
    'openai-responses',
    '/responses',
    {
      stream: null,
      store: null,
      text: null,
      tools: null,
      tool_choice: null,
      user: null,
      trace: null,
      models: null,
      input: [
        { type: null, role: 'user', id: null, content: [{ type: 'input_text', text: long, cache_control: null }] },
        { type: 'function_call', id: null, call_id: 'c', name: 'f', arguments: '{}', status: null, namespace: null },
        { type: 'function_call_output', call_id: 'c', output: 'x', status: null },
      ],
    },
  ],
  [
    'chat completions',
    'openai-chat',
    '/chat/completions',
    {
      stop_server_tools_when: null,
      tools: [
        { type: 'function', function: { name: 'f', parameters: null, strict: null }, async: null, defer_loading: null },
      ],
      messages: [
        { role: 'user', content: long },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ type: null, id: 'c', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: 'x', name: null },
      ],
    },
  ],
  [
    'messages',
    'openai-chat',
    '/messages',
    {
      max_tokens: 9,
      plugins: null,
      session_id: null,
      messages: [
        { role: 'user', content: [{ type: 'document', source: { type: 'text', media_type: null, data: long } }] },
      ],
      tools: [{ type: null, name: 'f', input_schema: { type: 'object', default: null } }],
    },
  ],
];

it.each(
  bodies,
)('a body of %s with nulls is the same as one without, also where it is parsed again', async (_, wire, path, body) => {
  const send = async (given: object): Promise<unknown[]> => {
    const before = upstream.requests.length;
    upstream.respond(json(complaint('Down.'), { status: 500 }));
    upstream.respond(json(wholeBody(wire)));
    const response = await gateway.post(path, { model: wire, ...given });
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    return upstream.requests.slice(before).map((request) => request.body);
  };

  const [first, second] = await send(body);

  expect(second).toEqual(first);
  const [plain] = await send(withoutNulls(body) as object);
  expect(withoutNulls(first)).toEqual(withoutNulls(plain));
});
