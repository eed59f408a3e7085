import { describe, expect, it } from 'vitest';
import { hello, refused, writeTo } from '../../../tests/wires/write-to.ts';
import type { InputItem, Tool, ToolChoice } from '../../domain/items.ts';
import { writeRequest } from './request.ts';

const write = writeTo(writeRequest, { upstreamModel: 'one' });
describe('settings', () => {
  it('keep their meaning under other names', () => {
    const { body, dropped } = write({
      max_output_tokens: 9,
      temperature: 0,
      top_p: 0.5,
      frequency_penalty: 1,
      presence_penalty: -1,
      top_logprobs: 2,
      prompt_cache_key: 'k',
      service_tier: 'flex',
      text: {
        format: { type: 'json_schema', name: 'city', schema: { type: 'object' }, strict: true },
        verbosity: 'low',
      },
    });
    expect(body).toMatchObject({
      max_completion_tokens: 9,
      temperature: 0,
      top_p: 0.5,
      frequency_penalty: 1,
      presence_penalty: -1,
      logprobs: true,
      top_logprobs: 2,
      prompt_cache_key: 'k',
      service_tier: 'flex',
      verbosity: 'low',
      response_format: { type: 'json_schema', json_schema: { name: 'city', schema: { type: 'object' }, strict: true } },
    });
    expect(dropped).toEqual([]);
  });

  it('ask for usage at the end of a stream, where the server can', () => {
    expect(write({}, { stream: true }).body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    const { body } = write({}, { stream: true, dialect: { stream_usage: false, max_tokens_field: 'max_tokens' } });
    expect(body).not.toHaveProperty('stream_options');
  });

  it('name the end user only as the target does', () => {
    expect(write({ user: 'ada@example.com', safety_identifier: 'ada' }).body).not.toHaveProperty('user');
    expect(write({ user: 'ada@example.com' }, { endUser: 'h4sh' }).body).toMatchObject({ user: 'h4sh' });
    const omitted = write({ safety_identifier: 'ada' }, { endUser: 'h4sh', dialect: { omit: ['user'] } });
    expect(omitted.dropped).toEqual(['safety_identifier']);
  });

  it('name the workspace only if there is no end user and the server takes it', () => {
    const [account, dialect] = ['hg_2', { account_identity: true }];
    expect(write({}, { account }).body).not.toHaveProperty('safety_identifier');
    const named = write({}, { account, dialect }).body;
    expect(named).toMatchObject({ safety_identifier: 'hg_2' });
    expect(named).not.toHaveProperty('user');
    expect(write({}, { account, dialect, endUser: 'hg_1' }).body).not.toHaveProperty('safety_identifier');
  });

  it('that do no harm when they are missing are left out and named', () => {
    const { body, dropped } = write({
      metadata: { a: 'b' },
      include: ['reasoning.encrypted_content'],
      prompt_cache_options: { mode: 'explicit' },
      cache_control: { type: 'ephemeral' },
      truncation: 'disabled',
      modalities: ['text'],
      top_k: 40,
      input: [
        {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_text', text: 'x', cache_control: { type: 'ephemeral' } }],
        },
      ],
    });
    expect(Object.keys(body)).toEqual(['model', 'messages']);
    expect(dropped.sort()).toEqual([
      'cache_control',
      'include',
      'input[0].content[0].cache_control',
      'metadata',
      'modalities',
      'prompt_cache_options',
      'top_k',
      'truncation',
    ]);
  });

  it('are passed on or left out as the dialect sets it', () => {
    const dialect = {
      metadata: true,
      top_k: true,
      cache_control: true,
      omit: ['verbosity'],
      max_tokens_field: 'max_tokens',
    };
    const { body, dropped } = write(
      {
        metadata: { a: 'b' },
        top_k: 40,
        max_output_tokens: 5,
        text: { verbosity: 'low' },
        input: [
          {
            type: 'message',
            role: 'user',
            content: [{ type: 'input_text', text: 'x', cache_control: { type: 'ephemeral' } }],
          },
        ],
      },
      { dialect },
    );
    expect(body).toEqual({
      model: 'one',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] }],
      max_tokens: 5,
      top_k: 40,
      metadata: { a: 'b' },
    });
    expect(dropped).toEqual(['text.verbosity']);
  });

  it('of the gateway go nowhere and need no name', () => {
    const { body, dropped } = write({
      model: 'a/b',
      plugins: [],
      provider: {},
      session_id: 's',
      trace: {},
      background: false,
    });
    expect(Object.keys(body)).toEqual(['model', 'messages']);
    expect(dropped).toEqual([]);
  });

  it('of the dialect must be known', () => {
    expect(() => write({}, { dialect: { max_token_field: 'max_tokens' } })).toThrow(
      /dialect\.max_token_field is not a setting/,
    );
    expect(() => write({}, { dialect: { reasoning: 'loud' } })).toThrow(
      /dialect\.reasoning must be one of .*, got "loud"/,
    );
  });
});

describe('reasoning', () => {
  it.each([
    [{ effort: 'high' }, 'high'],
    [{ effort: 'none' }, 'none'],
    [{ enabled: false, effort: 'high' }, 'none'],
    [{ enabled: true }, 'medium'],
    [{ max_tokens: 0 }, 'none'],
    [{ max_tokens: 100 }, 'minimal'],
    [{ max_tokens: 400 }, 'medium'],
    [{ max_tokens: 1000 }, 'xhigh'],
    [{ effort: null }, undefined],
  ] as const)('%j is the effort %s', (reasoning, effort) => {
    expect(write({ reasoning, max_output_tokens: 1000 }).body.reasoning_effort).toBe(effort);
  });

  it('is that of the last configuration_update', () => {
    const update = (effort: 'low' | 'max'): InputItem => ({ type: 'configuration_update', reasoning: { effort } });
    const { body } = write({ reasoning: { effort: 'none' }, input: [update('max'), hello, update('low'), hello] });
    expect(body.reasoning_effort).toBe('low');
    expect(body.messages).toHaveLength(2);
  });

  it('is the nearest effort that the server knows, and is named', () => {
    const { body, dropped } = write({ reasoning: { effort: 'max' } }, { dialect: { efforts: ['low', 'high'] } });
    expect(body.reasoning_effort).toBe('high');
    expect(dropped).toEqual(['reasoning.effort (max → high)']);
  });

  it.each([
    [{ effort: 'high', summary: 'auto' }, { effort: 'high' }, ['reasoning.summary']],
    [{ max_tokens: 2000 }, { max_tokens: 2000 }, []],
    [{ effort: 'low', max_tokens: 2000 }, { effort: 'low' }, ['reasoning.max_tokens']],
    [{ enabled: false }, { enabled: false }, []],
  ] as const)('%j is the object %j, where the server takes one', (reasoning, written, left) => {
    const { body, dropped } = write({ reasoning }, { dialect: { reasoning: 'reasoning' } });
    expect(body.reasoning).toEqual(written);
    expect(dropped).toEqual(left);
  });

  it.each([{ enabled: false }, { effort: 'none' }] as const)('stays on with %j, where it is mandatory', (reasoning) => {
    const dialect = { reasoning: 'reasoning', efforts: ['low', 'high'] };
    const { body, dropped } = write({ reasoning }, { dialect });
    expect(body.reasoning).toEqual({ effort: 'low' });
    expect(dropped).toEqual(['reasoning.effort (none → low)']);
  });

  it('is left out and named, where the server takes nothing', () => {
    const { body, dropped } = write(
      { reasoning: { effort: 'low', max_tokens: 9 } },
      { dialect: { reasoning: 'none' } },
    );
    expect(Object.keys(body)).toEqual(['model', 'messages']);
    expect(dropped).toEqual(['reasoning.effort', 'reasoning.max_tokens']);
  });
});

describe('what would change the meaning is refused, with field and endpoint', () => {
  it.each([
    'computer_use_preview',
    'local_shell',
    'shell',
    'apply_patch',
    'file_search',
    'router:web_search',
  ])('the tool %s', (type) => {
    expect(() => write({ tools: [{ type } as Tool] })).toThrow(refused('tools[0]'));
  });

  it.each([
    'web_search',
    'mcp',
    'code_interpreter',
    'image_generation',
  ])('but the tool %s, which the provider would run, is left out and named, unless it is forced', (type) => {
    const hosted = { type } as Tool;
    const fn: Tool = { type: 'function', name: 'f', parameters: null };

    const { body, dropped } = write({ tools: [hosted, fn], tool_choice: 'required' });

    expect(body.tools).toEqual([{ type: 'function', function: { name: 'f' } }]);
    expect(dropped).toEqual([`tools[0] (${type})`]);
    expect(write({ tools: [hosted] }).body).not.toHaveProperty('tools');
    for (const choice of ['required', { type }, { type: 'allowed_tools', mode: 'required', tools: [hosted] }]) {
      expect(() => write({ tools: [hosted], tool_choice: choice as ToolChoice })).toThrow(
        refused('tool_choice(?:.tools)?'),
      );
    }
  });

  it('a search that is forced: the gateway runs none itself yet', () => {
    expect(() => write({ tools: [{ type: 'web_search' }], tool_choice: 'required' })).toThrow(
      'tool_choice: acme/one at Acme does not have the tool web_search, and tool_choice forces it. The gateway searches itself if tools.web_search.engines is configured.',
    );
  });

  it.each(['item_reference', 'mcp_call', 'shell_call_output', 'computer_call'])('the item %s', (type) => {
    expect(() => write({ input: [hello, { type, id: 'x' } as InputItem] })).toThrow(refused('input[1]'));
  });

  it('a prompt template, an image by file id, the choice of a hosted tool', () => {
    expect(() => write({ prompt: { id: 'p' } })).toThrow(refused('prompt'));
    expect(() =>
      write({ input: [{ type: 'message', role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] }),
    ).toThrow(refused('input[0].content[0].file_id'));
    expect(() => write({ tool_choice: { type: 'shell' } })).toThrow(refused('tool_choice'));
  });

  it('but compactions and the traces of server tools are left out, and named', () => {
    const items = [
      { type: 'compaction', encrypted_content: 'x' },
      { type: 'router:datetime', id: 'dt_1' },
    ] as InputItem[];
    expect(write({ input: [...items, hello] }).dropped).toEqual([
      'input[0] (compaction)',
      'input[1] (router:datetime)',
    ]);
  });
});
