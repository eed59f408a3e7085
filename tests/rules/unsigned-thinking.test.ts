import { describe, expect, it } from 'vitest';
import { strictProviders } from '../../src/testing/strict/index.ts';
import { responseThoughts } from '../../src/testing/strict/plan-output.ts';
import { openStrictLab, type SentResult } from './strict-lab.ts';

/*
 * Servers of the Messages format that do not sign their thinking need it back. Source: NousResearch/hermes-agent#17510
 */

const find = (id: string) => strictProviders.find((each) => each.id === id)!;
const parameters = { type: 'object', properties: { city: { type: 'string' } } };

/** A first turn that reasons and calls a tool, and the next request with its output and the result. */
const apis = {
  messages: {
    first: {
      max_tokens: 4000,
      thinking: { type: 'enabled', budget_tokens: 2000 },
      tools: [{ name: 'f', input_schema: parameters }],
      messages: [{ role: 'user', content: 'Go.' }],
    },
    next: (body: Record<string, unknown>) => {
      const content = body['content'] as { type: string; id?: string }[];
      const results = content.flatMap(({ type, id }) =>
        type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: 'Done.' }] : [],
      );
      return {
        messages: [
          { role: 'user', content: 'Go.' },
          { role: 'assistant', content },
          { role: 'user', content: results },
        ],
      };
    },
  },
  responses: {
    first: {
      max_output_tokens: 4000,
      reasoning: { effort: 'medium' },
      tools: [{ type: 'function', name: 'f', parameters }],
      input: [{ role: 'user', content: 'Go.' }],
    },
    next: (body: Record<string, unknown>) => {
      const output = body['output'] as { type: string; call_id?: string }[];
      const results = output.flatMap(({ type, call_id: id }) =>
        type === 'function_call' ? [{ type: 'function_call_output', call_id: id, output: 'Done.' }] : [],
      );
      return { input: [{ role: 'user', content: 'Go.' }, ...output, ...results] };
    },
  },
  chat: {
    first: {
      max_tokens: 4000,
      reasoning_effort: 'medium',
      tools: [{ type: 'function', function: { name: 'f', parameters } }],
      messages: [{ role: 'user', content: 'Go.' }],
    },
    next: (body: Record<string, unknown>) => {
      const [choice] = body['choices'] as { message: { tool_calls: { id: string }[] } }[];
      const { message } = choice!;
      const results = message.tool_calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'Done.' }));
      return { messages: [{ role: 'user', content: 'Go.' }, message, ...results] };
    },
  },
};

const thoughtsOf = ({ sent }: SentResult) =>
  (sent['messages'] as { content: { type: string }[] }[])
    .flatMap(({ content }) => content)
    .filter(({ type }) => type === 'thinking');

interface Params {
  dropped_fields?: string[];
}

describe.each(['deepseek-messages', 'kimi-messages', 'minimax-messages', 'zai-messages'])('%s', (id) => {
  it.each(['messages', 'responses', 'chat'] as const)('gets its thinking back from %s', async (api) => {
    const lab = await openStrictLab(find(id));
    try {
      const { first, next } = apis[api];
      const before = await lab.send(api, first);
      expect([before.status, before.text]).toEqual([200, expect.stringContaining(responseThoughts)]);

      const after = await lab.send(api, { ...first, ...next(before.body) });

      expect(after.status).toBe(200);
      expect(thoughtsOf(after)).toEqual([{ type: 'thinking', thinking: responseThoughts }]);
      const { dropped_fields: dropped = [] } = (after.body['router_metadata'] as { params: Params }).params;
      expect(dropped.filter((name) => !/→ (?:on|effort medium)\)$/.test(name))).toEqual([]);
    } finally {
      await lab.close();
    }
  });
});

it('is not sent to Claude', async () => {
  const server = await openStrictLab(find('zai-messages'));
  const claude = await openStrictLab(
    strictProviders.find(({ wire, id }) => wire === 'anthropic-messages' && !id.includes('messages'))!,
  );
  try {
    const { first, next } = apis.messages;
    const before = await server.send('messages', first);
    const after = await claude.send('messages', { ...first, thinking: { type: 'disabled' }, ...next(before.body) });
    expect([after.status, thoughtsOf(after)]).toEqual([200, []]);
  } finally {
    await server.close();
    await claude.close();
  }
});

it('gives an effort of the client to servers that have efforts, and reports its loss at the others', async () => {
  const request = {
    max_tokens: 4000,
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high' },
    messages: [{ role: 'user', content: 'Go.' }],
  };
  const sentTo = async (id: string) => {
    const lab = await openStrictLab(find(id));
    try {
      const { status, sent, body } = await lab.send('messages', request);
      const { thinking, output_config: output } = sent;
      const { dropped_fields: dropped } = (body['router_metadata'] as { params: Params }).params;
      return { status, thinking, output, dropped };
    } finally {
      await lab.close();
    }
  };
  expect(await sentTo('deepseek-messages')).toEqual({
    status: 200,
    thinking: { type: 'enabled' },
    output: { effort: 'high' },
  });
  expect(await sentTo('minimax-messages')).toEqual({
    status: 200,
    thinking: { type: 'adaptive' },
    dropped: ['output_config.effort'],
  });
  expect(await sentTo('zai-messages')).toMatchObject({
    status: 200,
    thinking: { type: 'enabled' },
    dropped: ['output_config.effort (high → on)'],
  });
});
