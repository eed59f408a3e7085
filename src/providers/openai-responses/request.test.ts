import { describe, expect, it } from 'vitest';
import { hello, writeTo } from '../../../tests/wires/write-to.ts';
import type { InputItem, ToolOutputPart } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { Target } from '../wire.ts';
import { readWhole } from './chunks.ts';
import { writeRequest } from './request.ts';

const write = writeTo(writeRequest, { upstreamModel: 'one', stream: true });

const writeItems = (input: InputItem[], dialect: Target['dialect'] = {}) => {
  const { body, dropped } = write({ input }, { dialect });
  return { input: body.input, dropped };
};

describe('images generated earlier', () => {
  const made = (id: string, result: string | null): InputItem => ({ type: 'image_generation_call', id, result });
  const own = 'img_0123456789abcdefghABCDEF';

  it('go back as they came', () => {
    const item = made('ig_1', 'iVBORw0KGgo=');
    expect(writeItems([item])).toEqual({ input: [item], dropped: [] });
  });

  it('by another provider are shown by the user', () => {
    const { input, dropped } = writeItems([made(own, '/9j/AAAA')]);
    expect(input).toMatchObject([
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: '[Image made by the assistant]' },
          { type: 'input_image', image_url: 'data:image/jpeg;base64,/9j/AAAA' },
        ],
      },
    ]);
    expect(dropped).toEqual([]);
  });

  it('by another provider are left out, and named, when they failed', () => {
    expect(writeItems([hello, made(own, null)])).toEqual({
      input: [hello],
      dropped: ['input[1] (image_generation_call)'],
    });
  });
});

describe('the body', () => {
  it('names the model of the upstream, never stores, and streams if requested', () => {
    expect(write({ model: 'acme/one:nitro', stream: false })).toMatchObject({
      path: '/responses',
      body: { model: 'one', store: false, stream: true },
    });
    expect(write({ stream: true }, { stream: false }).body.stream).toBe(false);
  });

  it('carries what means the same upstream, and leaves out what is null', () => {
    const carried: Partial<ResponseRequest> = {
      instructions: 'Be brief.',
      include: ['reasoning.encrypted_content'],
      frequency_penalty: 0.5,
      max_output_tokens: 100,
      metadata: { team: 'red' },
      parallel_tool_calls: false,
      presence_penalty: 0,
      prompt: { id: 'pmpt_1', variables: { name: 'Ada' } },
      prompt_cache_key: 'k',
      prompt_cache_options: { mode: 'explicit', ttl: '30m' },
      service_tier: 'flex',
      temperature: 0,
      text: { format: { type: 'json_object' }, verbosity: 'low' },
      tool_choice: 'required',
      top_p: 0.9,
      truncation: 'auto',
    };
    const { body, dropped } = write(
      { ...carried, reasoning: null, safety_identifier: null },
      { dialect: { omit: [] } },
    );
    expect(body).toEqual({ model: 'one', input: [hello], stream: true, store: false, ...carried });
    expect(dropped).toEqual([]);
    expect(Object.keys(write({ temperature: null, prompt: null, metadata: null }).body)).toEqual([
      'model',
      'input',
      'stream',
      'store',
    ]);
  });

  it('names the fields that have no place upstream, and not those that the gateway reads itself', () => {
    const { body, dropped } = write({
      background: true,
      cache_control: { type: 'ephemeral' },
      debug: { echo_upstream_body: true },
      image_config: { quality: 'low' },
      max_tool_calls: 3,
      modalities: ['text'],
      models: ['acme/two'],
      plugins: [{ id: 'web' }],
      provider: { order: ['acme'] },
      session_id: 's',
      tools: [{ type: 'router:datetime' }],
      top_k: 40,
      trace: { trace_id: 't' },
    });
    expect(Object.keys(body)).toEqual(['model', 'input', 'stream', 'store']);
    expect(dropped).toEqual(['cache_control', 'image_config', 'modalities', 'top_k']);
  });

  it('sends a hash of the end user and never the name that the caller gave', () => {
    const { body } = write({ user: 'ada@example.org', safety_identifier: 'ada' }, { endUser: 'eu_5f3c' });
    expect(body).toMatchObject({ safety_identifier: 'eu_5f3c' });
    expect(JSON.stringify(body)).not.toContain('ada');
  });

  it('sends a hash of the workspace if there is no end user and the server takes it', () => {
    const [account, dialect] = ['hg_2', { account_identity: true }];
    expect(write({}, { account }).body).not.toHaveProperty('safety_identifier');
    expect(write({}, { account, dialect }).body).toMatchObject({ safety_identifier: 'hg_2' });
    expect(write({}, { account, dialect, endUser: 'hg_1' }).body).toMatchObject({ safety_identifier: 'hg_1' });
    const omitted = write({}, { account, dialect: { ...dialect, omit: ['safety_identifier'] } });
    expect(omitted.body).not.toHaveProperty('safety_identifier');
    expect(omitted.dropped).toEqual([]);
    const ofUser = write({ user: 'ada' }, { endUser: 'hg_1', dialect: { omit: ['safety_identifier'] } });
    expect(ofUser.dropped).toEqual(['user']);
  });

  it('requests the logprobs that top_logprobs counts', () => {
    expect(write({ top_logprobs: 2 }).body).toMatchObject({
      top_logprobs: 2,
      include: ['message.output_text.logprobs'],
    });
    expect(write({ top_logprobs: 0 }).body).not.toHaveProperty('include');
  });

  it('requests encrypted reasoning that comes back later, unless the server has none', () => {
    const sealed = 'reasoning.encrypted_content';
    const sealing = { sealsReasoning: true } as const;
    expect(write({}, sealing).body.include).toEqual([sealed]);
    expect(write({ include: [sealed], logprobs: true }, sealing).body.include).toEqual([
      sealed,
      'message.output_text.logprobs',
    ]);
    for (const dialect of [{ plain_reasoning: true }, { omit: ['include'] }]) {
      expect(write({}, { ...sealing, dialect })).toMatchObject({ body: { model: 'one' }, dropped: [] });
      expect(write({}, { ...sealing, dialect }).body).not.toHaveProperty('include');
    }
  });

  it('leaves out and names the fields that this provider refuses', () => {
    expect(write({ frequency_penalty: 1, temperature: 1 }).dropped).toEqual(['frequency_penalty']);
    const dialect = { omit: ['temperature', 'top_p'] };
    expect(write({ frequency_penalty: 1, temperature: 1 }, { dialect })).toMatchObject({
      body: { frequency_penalty: 1 },
      dropped: ['temperature'],
    });
  });
});

describe('items', () => {
  it('go upstream as they came, unknown kinds and unknown fields too, without a copy', () => {
    const input = [
      { ...hello, mood: 'fair' },
      { type: 'message', role: 'assistant', id: 'msg_1', status: 'completed', phase: 'commentary', content: [] },
      { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'weather', arguments: '{}', status: 'completed' },
      { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'rain' }] },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: 'done' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } },
      { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'f', parameters: null }] },
      {
        type: 'agent_message',
        author: 'a',
        recipient: 'b',
        content: [{ type: 'encrypted_content', encrypted_content: 'x' }],
      },
      { type: 'compaction', encrypted_content: 'x' },
      { type: 'item_reference', id: 'msg_9' },
      { type: 'dream_call', depth: 3 },
    ] as InputItem[]; // with kinds that no type knows
    const before = structuredClone(input);
    const { body, dropped } = write({ input });
    expect(body.input).toBe(input);
    expect(input).toEqual(before);
    expect(dropped).toEqual([]);
  });

  it('copies only the item that changes', () => {
    const marked: InputItem = { type: 'message', role: 'assistant', content: 'hi', model: 'acme/two' } as InputItem;
    const input = [hello, marked, hello];
    const written = write({ input }).body.input as unknown[];
    expect(written).toEqual([hello, { type: 'message', role: 'assistant', content: 'hi' }, hello]);
    expect(written[0]).toBe(hello);
    expect(input[1]).toHaveProperty('model');
  });

  it('turns cache_control on a part into the breakpoint of the upstream, without its lifetime', () => {
    const text: ToolOutputPart = { type: 'input_text', text: 'long', cache_control: { type: 'ephemeral', ttl: '1h' } };
    const plain: ToolOutputPart = { type: 'input_text', text: 'short' };
    const breakpoint = { type: 'input_text', text: 'long', prompt_cache_breakpoint: { mode: 'explicit' } };
    const items: InputItem[] = [
      { type: 'message', role: 'user', content: [text, plain] },
      { type: 'function_call_output', call_id: 'call_1', output: [plain, text] },
    ];
    expect(writeItems(items)).toEqual({
      input: [
        { type: 'message', role: 'user', content: [breakpoint, plain] },
        { type: 'function_call_output', call_id: 'call_1', output: [plain, breakpoint] },
      ],
      dropped: ['cache_control.ttl'],
    });
    expect(writeItems(items, { cache_control: false })).toMatchObject({
      input: [{ content: [{ type: 'input_text', text: 'long' }, plain] }, {}],
      dropped: ['cache_control'],
    });
  });

  it('sends encrypted reasoning back to the dialect that made it, without the marks of the gateway', () => {
    const own: InputItem = {
      type: 'reasoning',
      id: 'rs_1',
      summary: [],
      encrypted_content: 'gAAAA',
      format: 'openai-responses-v1',
      signature: null,
    };
    const said: InputItem = { type: 'message', role: 'assistant', content: 'Hi.' };
    expect(writeItems([own, said]).input).toEqual([
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' },
      said,
    ]);
    expect(writeItems([{ ...own, format: null, summary: null }, said])).toEqual(writeItems([own, said]));
    expect(writeItems([own], { reasoning_format: 'xai-responses-v1' })).toEqual({ input: [], dropped: ['input[0]'] });
  });

  it('takes the id from what the model put out after reasoning that stays behind, until the user or a tool speaks', () => {
    const bare: InputItem = { type: 'reasoning', id: 'rs_1', summary: [] };
    const call: InputItem = { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' };
    const said: InputItem = { type: 'message', role: 'assistant', id: 'msg_1', content: [] };
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' } as InputItem;
    const output: InputItem = { type: 'function_call_output', call_id: 'c', output: 'x' };
    const without = ({ id: _, ...item }: InputItem) => item;

    expect(writeItems([bare, search, said, call, output, said]).input).toEqual([
      search,
      without(said),
      without(call),
      output,
      said,
    ]);
    const sealed: InputItem = { ...bare, encrypted_content: 'gAAAA' };
    expect(writeItems([sealed, said, call]).input).toEqual([sealed, said, call]);
  });

  it('leaves out sealed reasoning that no output follows, which the upstream rejects', () => {
    const sealed: InputItem = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' };
    expect(writeItems([hello, sealed, sealed, hello])).toEqual({
      input: [hello, hello],
      dropped: ['input[1]', 'input[2]'],
    });
    expect(writeItems([hello, sealed]).input).toEqual([hello]);
    expect(writeItems([hello, sealed], { gateway: true }).input).toEqual([hello, sealed]);
  });

  it('takes the ids of OpenAI from output that comes without its reasoning', () => {
    const id = `msg_${'0c3876fcd4da19ef'.repeat(3)}`;
    const said: InputItem = { type: 'message', role: 'assistant', id, content: [] };
    const sealed: InputItem = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' };
    const { id: _, ...bare } = said as { id: string };
    expect(writeItems([hello, said, hello, sealed, said]).input).toEqual([hello, bare, hello, sealed, said]);
  });

  it('have no nulls, in fields of typed clients either', () => {
    const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi.' }] };
    const [part] = said.content;
    const typed = { ...said, phase: null, content: [{ ...part, parsed: null, logprobs: null }] } as InputItem;
    expect(writeItems([typed]).input).toEqual([said]);
    const other = { type: 'acme_call', value: null } as unknown as InputItem; // of a kind that no page lists
    expect(writeItems([other]).input).toEqual([other]);
  });

  it('keeps the text of reasoning that another dialect made only where plain reasoning is accepted', () => {
    const foreign: InputItem = {
      type: 'reasoning',
      id: 'rs_1',
      content: [{ type: 'reasoning_text', text: 'Hm.' }],
      encrypted_content: 'x',
      signature: 'y',
      format: 'anthropic-claude-v1',
    };
    expect(writeItems([foreign, hello])).toEqual({ input: [hello], dropped: ['input[0]'] });
    expect(writeItems([foreign], { plain_reasoning: true })).toEqual({
      input: [{ type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] }],
      dropped: ['input[0].encrypted_content', 'input[0].signature'],
    });
    const empty: InputItem = { ...foreign, content: null };
    expect(writeItems([empty], { plain_reasoning: true })).toEqual({ input: [], dropped: ['input[0]'] });
  });

  it('leaves out items and fields of server tools', () => {
    const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' } as const;
    expect(
      writeItems([
        { type: 'router:datetime', datetime: '2026-01-01T00:00:00Z' },
        { ...call, subagent_id: 'call_0', subagent_items: [] } as InputItem,
      ]),
    ).toEqual({ input: [call], dropped: ['input[0]'] });
  });

  it('takes the excerpt out of a citation', () => {
    const citation = { type: 'url_citation', url: 'https://a.example', title: '', start_index: 0, end_index: 1 };
    const answer = (annotation: object): InputItem => ({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'a', annotations: [annotation] }],
    });
    expect(writeItems([answer({ ...citation, content: 'excerpt' })]).input).toEqual([answer(citation)]);
  });

  it('makes the last configuration_update the effort of the request', () => {
    const update = (effort: 'low' | 'high'): InputItem => ({ type: 'configuration_update', reasoning: { effort } });
    const input = [update('low'), hello, update('high'), hello];
    const { body } = write({ input, reasoning: { effort: 'medium', summary: 'auto' } });
    expect(body).toMatchObject({ input: [hello, hello], reasoning: { effort: 'high', summary: 'auto' } });
    expect(write({ input }, { dialect: { native_configuration_update: true } }).body.input).toBe(input);
  });

  it('rewrites the newest kinds for a server that does not know them', () => {
    const tool = { type: 'function', name: 'f', parameters: null } as const;
    const { body, dropped } = write(
      {
        input: [
          { type: 'additional_tools', role: 'developer', tools: [tool, { type: 'router:datetime' }] },
          {
            type: 'agent_message',
            author: 'planner',
            recipient: 'writer',
            content: [
              { type: 'input_text', text: 'Begin.' },
              { type: 'encrypted_content', encrypted_content: 'x' },
            ],
          },
          { type: 'compaction', encrypted_content: 'x' },
        ],
      },
      { dialect: { native_items: false } },
    );
    expect(body.tools).toEqual([tool]);
    expect(body.input).toEqual([
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Message from planner to writer:' },
          { type: 'input_text', text: 'Begin.' },
        ],
      },
    ]);
    expect(dropped).toEqual(['input[1].content[1]', 'input[2]']);
  });
});

describe('tools', () => {
  it('go upstream as they came, without a copy', () => {
    const tools: ResponseRequest['tools'] = [
      { type: 'function', name: 'f', parameters: {}, strict: true },
      { type: 'custom', name: 'sql', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } },
      { type: 'namespace', name: 'n', description: 'd', tools: [{ type: 'function', name: 'g' }] },
      { type: 'mcp', server_label: 'library', server_url: 'https://mcp.example' },
    ];
    expect(write({ tools }).body.tools).toBe(tools);
  });

  it('send the limit of calls only when the upstream runs some of them', () => {
    const custom = { type: 'function', name: 'f', parameters: null } as const;
    expect(write({ tools: [custom], max_tool_calls: 5 }).body).not.toHaveProperty('max_tool_calls');
    expect(write({ tools: [custom, { type: 'file_search' }], max_tool_calls: 5 }).body.max_tool_calls).toBe(5);
  });

  it('lose what is a setting of the gateway', () => {
    const { body, dropped } = write({
      tools: [
        { type: 'router:tool_search' },
        { type: 'function', name: 'f', parameters: null, defer_loading: true },
        { type: 'web_search', engine: 'native', max_results: 3, search_context_size: 'low' },
        {
          type: 'namespace',
          name: 'n',
          description: 'd',
          tools: [{ type: 'function', name: 'g', defer_loading: true }],
        },
      ],
    });
    expect(body.tools).toEqual([
      { type: 'function', name: 'f', parameters: null },
      { type: 'web_search', search_context_size: 'low' },
      { type: 'namespace', name: 'n', description: 'd', tools: [{ type: 'function', name: 'g' }] },
    ]);
    expect(dropped).toEqual(['tools[2].max_results']);
  });

  it('are chosen among those that go upstream', () => {
    const choose = (choice: ResponseRequest['tool_choice']) => write({ tool_choice: choice });
    expect(choose({ type: 'function', name: 'f' }).body.tool_choice).toEqual({ type: 'function', name: 'f' });
    expect(choose({ type: 'router:datetime' })).toMatchObject({ dropped: ['tool_choice'] });
    const allowed = { type: 'function', name: 'f' };
    expect(
      choose({ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'router:datetime' }, allowed] }).body.tool_choice,
    ).toEqual({ type: 'allowed_tools', mode: 'auto', tools: [allowed] });
    expect(choose({ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'router:x' }] }).body.tool_choice).toBe(
      'none',
    );
  });
});

describe('a server that is a gateway', () => {
  const dialect = { gateway: true };

  it('gets reasoning of every format, cache marks with their lifetime, and fields that only gateways have', () => {
    const cache_control = { type: 'ephemeral' as const, ttl: '1h' as const };
    const input: InputItem[] = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a', cache_control }] },
      { type: 'reasoning', id: 'rs_1', summary: [], signature: 'Eq+/=', format: 'anthropic-claude-v1' },
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'Ci+/=', format: 'google-gemini-v1' },
    ];
    const own = { cache_control, image_config: { aspect_ratio: '16:9' }, modalities: ['text' as const], top_k: 3 };
    const { body, dropped } = write({ input, ...own }, { dialect, sealsReasoning: true });
    expect(body).toMatchObject({ input, ...own, include: ['reasoning.encrypted_content'] });
    expect(dropped).toEqual([]);
    expect(write({ input: [hello], ...own }).dropped).toEqual(Object.keys(own));
  });

  it('names the format of the reasoning in its responses', () => {
    const { readerContext } = write({ input: [hello] }, { dialect });
    const read = (format: unknown) => {
      const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'Ci+/=', format };
      const [, done] = readWhole({ status: 'completed', output: [item] }, readerContext);
      return (done as unknown as { item: { format: string } }).item.format;
    };
    expect(read('google-gemini-v1')).toBe('google-gemini-v1');
    expect(read('unheard-of')).toBe('openai-responses-v1');
    expect(read(undefined)).toBe('openai-responses-v1');
  });
});
