import { afterAll, beforeAll, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { plainAnswers } from './plain-answers.ts';
import { pathOf } from './strict-lab.ts';

// Every effort is none or some at these providers, and each has its own fields for it.
let gateway: TestGateway;
let upstream: ScriptedUpstream;

interface Control {
  effort?: unknown;
  thinking?: { type?: string };
}
const onOff = (on: string) => ({
  none: { thinking: { type: 'disabled' } },
  low: { thinking: { type: on } },
  high: { thinking: { type: on } },
});
const graded = { none: { effort: 'low' }, low: { effort: 'low' }, high: { effort: 'high' } };
const nothing = { none: {}, low: {}, high: {} };

/** The fields that each model accepts, by the effort of the request. Sources: the rules of the same providers. */
const models: [model: string, sent: Record<'none' | 'low' | 'high', Control>][] = [
  [
    'deepseek/deepseek-v4-pro',
    { none: { thinking: { type: 'disabled' } }, low: { effort: 'low' }, high: { effort: 'high' } },
  ],
  ['mistral/mistral-small-latest', { none: { effort: 'none' }, low: { effort: 'high' }, high: { effort: 'high' } }],
  ['mistral/mistral-large-latest', nothing],
  ['moonshot/kimi-k2.6', onOff('enabled')],
  ['moonshot/kimi-k2.7-code', nothing],
  ['moonshot/kimi-k3', graded],
  ['zai/glm-5.1', onOff('enabled')],
  ['zai/glm-5v-turbo', onOff('enabled')],
  ['zai/glm-5.2', { none: { thinking: { type: 'disabled' } }, low: { effort: 'low' }, high: { effort: 'high' } }],
  ['zai/glm-5.3-flash', graded],
  ['zai/glm-4-plus', nothing],
  ['minimax/MiniMax-M3', onOff('adaptive')],
  ['xiaomi/mimo-v2.5', onOff('enabled')],
];

const readControl = (body: Record<string, unknown>): Control => {
  const { reasoning_effort: effort, thinking } = body as { reasoning_effort?: unknown; thinking?: Control['thinking'] };
  return { ...(effort !== undefined && { effort }), ...(thinking && { thinking }) };
};

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(({ body }) => {
    const sent = body as Record<string, unknown>;
    const [, accepted] = models.find(([model]) => model.endsWith(`/${String(sent['model'])}`))!;
    const control = JSON.stringify(readControl(sent));
    return control === '{}' || Object.values(accepted).some((known) => JSON.stringify(known) === control)
      ? plainAnswers['openai-chat']('Hi.')
      : json({ error: { message: `Invalid request: ${control}.` } }, { status: 400 });
  });
  const ids = [...new Set(models.map(([model]) => model.split('/')[0]!))];
  gateway = await testGateway({
    providers: ids.map((id) => ({
      id,
      base_url: upstream.url,
      api_key: 'sk-some-provider-key',
      models: [{ model: `${id}/*`, upstream_model: '*' }],
    })),
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const user = { role: 'user', content: 'Hi.' };
/** The body that asks for an effort in the words of each API. */
const asked = {
  chat: (effort: string) => ({ messages: [user], reasoning_effort: effort }),
  responses: (effort: string) => ({ input: 'Hi.', reasoning: { effort } }),
  messages: (effort: string) => ({
    max_tokens: 4000,
    messages: [user],
    ...(effort === 'none' ? { thinking: { type: 'disabled' } } : { output_config: { effort } }),
  }),
} as const;

it.each(
  models.flatMap(([model, sent]) =>
    (Object.keys(asked) as (keyof typeof asked)[]).flatMap((api) =>
      (['none', 'low', 'high'] as const).map((effort) => ({ model, api, effort, sent: sent[effort] })),
    ),
  ),
)('$model gets the effort $effort of $api in its own fields', async ({ model, api, effort, sent }) => {
  const response = await gateway.post(pathOf(api, model), { model, ...asked[api](effort) });
  expect(response.status).toBe(200);
  await response.arrayBuffer();
  expect(readControl(upstream.requests.at(-1)!.body as Record<string, unknown>)).toEqual(sent);
});

it.each([true, false])('DeepSeek gets the reasoning of all earlier calls, with it in the history: %s', async (has) => {
  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
  const body = {
    model: 'deepseek/deepseek-v4-pro',
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }],
    messages: [
      user,
      { role: 'assistant', content: null, tool_calls: [call], ...(has && { reasoning_content: 'Hm.' }) },
      { role: 'tool', tool_call_id: 'call_1', content: 'Done.' },
      { role: 'assistant', content: 'Done.' },
      user,
    ],
  };
  await (await gateway.post('/chat/completions', body)).arrayBuffer();
  const { messages } = upstream.requests.at(-1)!.body as { messages: object[] };
  expect(messages[1]).toMatchObject({ reasoning_content: has ? 'Hm.' : '' });
});
