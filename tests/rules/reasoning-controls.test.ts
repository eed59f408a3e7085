import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { plainAnswers } from './plain-answers.ts';
import { pathOf } from './strict-lab.ts';

// Every effort is none or some at these providers, and each has its own fields for it.
let gateway: TestGateway;
let upstream: ScriptedUpstream;

type Control = Record<string, unknown>;
const onOff = (on: string) => ({
  none: { thinking: { type: 'disabled' } },
  low: { thinking: { type: on } },
  high: { thinking: { type: on } },
});
const graded = { none: { effort: 'low' }, low: { effort: 'low' }, high: { effort: 'high' } };
const kept = { thinking: { type: 'enabled', clear_thinking: false } };
const off = { thinking: { type: 'disabled' } };
const flag = { none: { reasoning: { enabled: false } }, low: { reasoning: { enabled: true } } };
const template = (name: string) => ({
  none: { chat_template_kwargs: { [name]: false } },
  low: { chat_template_kwargs: { [name]: true } },
  high: { chat_template_kwargs: { [name]: true } },
});
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
  ['zai/glm-5.1', { none: off, low: kept, high: kept }],
  ['zai/glm-5v-turbo', { none: off, low: kept, high: kept }],
  ['zai/glm-5.2', { none: off, low: { effort: 'low', ...kept }, high: { effort: 'high', ...kept } }],
  ['zai/glm-5.3-flash', graded],
  ['zai/glm-4-plus', nothing],
  ['minimax/MiniMax-M3', onOff('adaptive')],
  ['xiaomi/mimo-v2.5', onOff('enabled')],
  ['cerebras/zai-glm-4.7', { none: { effort: 'none' }, low: {}, high: {} }],
  ['cerebras/gpt-oss-120b', graded],
  ['cerebras/llama3.1-8b', nothing],
  ['together/zai-org/GLM-5', { ...flag, high: flag.low }],
  ['nvidia/nvidia/nemotron-3-nano-30b-a3b', template('enable_thinking')],
  ['nvidia/moonshotai/kimi-k2.6', template('thinking')],
  ['vllm/Qwen/Qwen3-8B', template('enable_thinking')],
  ['sglang/deepseek-ai/DeepSeek-V3.1', template('thinking')],
  ['alibaba/qwen3.8-max', graded],
  ['bytedance/doubao-seed-2-0-pro-260215', { none: off, low: { effort: 'low' }, high: { effort: 'high' } }],
  ['databricks/databricks-gpt-oss-120b', graded],
];

const fields = ['thinking', 'reasoning', 'chat_template_kwargs', 'enable_thinking'];
const readControl = (body: Record<string, unknown>): Control => {
  const { reasoning_effort: effort } = body;
  const others = fields.filter((field) => body[field] !== undefined).map((field) => [field, body[field]]);
  return { ...(effort !== undefined && { effort }), ...Object.fromEntries(others) };
};
const isEmpty = (control: Control): boolean => Object.keys(control).length === 0;

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.always(({ body }) => {
    const sent = body as Record<string, unknown>;
    const [, accepted] = models.find(([model]) => model.endsWith(`/${String(sent['model'])}`))!;
    const control = readControl(sent);
    return isEmpty(control) || Object.values(accepted).some((known) => isDeepStrictEqual(known, control))
      ? plainAnswers['openai-chat']('Hi.')
      : json({ error: { message: `Invalid request: ${JSON.stringify(control)}.` } }, { status: 400 });
  });
  const ids = [...new Set(models.map(([model]) => model.split('/')[0]!))];
  gateway = await testGateway({
    providers: ids.map((id) => ({
      id,
      wire: 'openai-chat',
      base_url: upstream.url,
      api_key: 'sk-some-provider-key',
      models: models
        .filter(([model]) => model.startsWith(`${id}/`))
        .map(([model]) => ({ model, upstream_model: model.slice(id.length + 1) })),
    })),
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const user = { role: 'user', content: 'Hi.' };
/** Other providers of the list have some of the models, too. */
const at = (model: string) => ({ provider: { only: [model.slice(0, model.indexOf('/'))] } });
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
  const response = await gateway.post(pathOf(api, model), { model, ...at(model), ...asked[api](effort) });
  expect(response.status).toBe(200);
  await response.arrayBuffer();
  expect(readControl(upstream.requests.at(-1)!.body as Record<string, unknown>)).toEqual(sent);
});

it.each([true, false])('DeepSeek gets the reasoning of all earlier calls, with it in the history: %s', async (has) => {
  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
  const body = {
    model: 'deepseek/deepseek-v4-pro',
    ...at('deepseek/'),
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
