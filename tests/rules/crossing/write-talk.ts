import type { Entry, Talk, TalkCall, TalkPart, TalkTool } from './talk.ts';

type Fields = Record<string, unknown>;

const dataOf = (text: string): string => Buffer.from(text).toString('base64');
const has = <T>(name: string, value: T | undefined): Fields => (value === undefined ? {} : { [name]: value });

/** Writes a conversation in the format of its API. */
export const writeTalk = (talk: Talk): Fields => ({
  ...(talk.api !== 'gemini' && { stream: talk.stream }), // its path says so
  ...writers[talk.api](talk),
});

const writers = { chat: writeChat, responses: writeResponses, messages: writeMessages, gemini: writeGemini };

function writeChat({ entries, tools, choice, format, settings, cached }: Talk): Fields {
  const { temperature, top_p, stop, max, effort, seed, penalty, parallel, verbosity, user } = settings;
  return {
    messages: entries.flatMap((entry, index) => chatMessages(entry, cached[index % cached.length])),
    ...has(
      'tools',
      tools.length === 0 ? undefined : tools.map((tool) => ({ type: 'function', function: chatTool(tool) })),
    ),
    ...has('tool_choice', typeof choice === 'object' ? { type: 'function', function: choice } : choice),
    ...has(
      'response_format',
      typeof format === 'object'
        ? { type: 'json_schema', json_schema: { name: 'answer', schema: format.schema } }
        : format && { type: format },
    ),
    ...has('temperature', temperature),
    ...has('top_p', top_p),
    ...has('stop', stop?.slice(0, 4)),
    ...has('max_completion_tokens', max),
    ...has('reasoning_effort', effort),
    ...has('seed', seed),
    ...has('frequency_penalty', penalty),
    ...has('parallel_tool_calls', parallel),
    ...has('verbosity', verbosity),
    ...has('user', user),
  };
}

const chatTool = ({ schema, ...tool }: TalkTool): Fields => ({ ...tool, ...has('parameters', schema) });

function chatMessages(entry: Entry, cached: Talk['cached'][number] | undefined): Fields[] {
  if (entry.kind === 'system') return [{ role: 'system', content: entry.text }];
  if (entry.kind === 'user') {
    const content = entry.parts.map((part): Fields => {
      if (part.kind === 'text')
        return { type: 'text', text: part.text, ...(cached && part.text && { cache_control: markOf(cached) }) };
      if (part.kind === 'image') return { type: 'image_url', image_url: { url: part.url } };
      return { type: 'file', file: { filename: part.name, file_data: `data:text/plain;base64,${dataOf(part.text)}` } };
    });
    return [{ role: 'user', content, ...has('name', entry.name) }];
  }
  const calls = entry.calls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));
  return [
    {
      role: 'assistant',
      content: entry.text,
      ...has('reasoning_content', entry.thoughts),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    ...answered(entry.calls).map(({ id, result }) => ({
      role: 'tool',
      tool_call_id: id,
      content:
        result.image === undefined
          ? result.text
          : [
              { type: 'text', text: result.text },
              { type: 'image_url', image_url: { url: result.image } },
            ],
    })),
  ];
}

type Answered = TalkCall & { result: NonNullable<TalkCall['result']> };
const answered = (calls: TalkCall[]): Answered[] => calls.filter((call): call is Answered => call.result !== undefined);
const markOf = (ttl: '5m' | '1h'): object => ({ type: 'ephemeral', ttl });

function writeResponses({ entries, tools, choice, format, settings }: Talk): Fields {
  const { temperature, top_p, stop, max, effort, penalty, parallel, verbosity, user, seed } = settings;
  return {
    input: entries.flatMap(responseItems),
    ...has('tools', tools.length === 0 ? undefined : tools.map((tool) => ({ type: 'function', ...chatTool(tool) }))),
    ...has('tool_choice', typeof choice === 'object' ? { type: 'function', ...choice } : choice),
    ...((format || verbosity) && {
      text: {
        ...(format && {
          format: typeof format === 'object' ? { type: 'json_schema', name: 'answer', ...format } : { type: format },
        }),
        ...has('verbosity', verbosity),
      },
    }),
    ...has('temperature', temperature),
    ...has('top_p', top_p),
    ...has('stop', stop?.slice(0, 4)),
    ...has('max_output_tokens', max),
    ...has('reasoning', effort === undefined ? undefined : { effort }),
    ...has('frequency_penalty', penalty),
    ...has('parallel_tool_calls', parallel),
    ...has('seed', seed),
    ...has('user', user),
  };
}

function responseItems(entry: Entry, index: number): Fields[] {
  if (entry.kind === 'system') return [{ type: 'message', role: 'developer', content: entry.text }];
  if (entry.kind === 'user') return [{ type: 'message', role: 'user', content: entry.parts.map(responsePart) }];
  const thought = {
    type: 'reasoning',
    id: `rs_${index}`,
    summary: [],
    content: [{ type: 'reasoning_text', text: entry.thoughts }],
  };
  return [
    ...(entry.thoughts === undefined ? [] : [thought]),
    ...(entry.text === '' && entry.calls.length > 0
      ? []
      : [{ type: 'message', role: 'assistant', content: entry.text }]),
    ...entry.calls.map(({ id, name, input }) => ({
      type: 'function_call',
      call_id: id,
      name,
      arguments: JSON.stringify(input),
    })),
    ...answered(entry.calls).map(({ id, result }) => ({
      type: 'function_call_output',
      call_id: id,
      output:
        result.image === undefined
          ? result.text
          : [
              { type: 'input_text', text: result.text },
              { type: 'input_image', image_url: result.image, detail: 'auto' },
            ],
    })),
  ];
}

const responsePart = (part: TalkPart): Fields => {
  if (part.kind === 'text') return { type: 'input_text', text: part.text };
  if (part.kind === 'image') return { type: 'input_image', image_url: part.url, detail: 'auto' };
  return { type: 'input_file', filename: part.name, file_data: `data:text/plain;base64,${dataOf(part.text)}` };
};

function writeMessages({ entries, tools, choice, format, settings, cached }: Talk): Fields {
  const { temperature, top_p, stop, max = 4000, effort, parallel, user } = settings;
  const choices = { auto: 'auto', none: 'none', required: 'any' };
  const budget = effort === undefined || effort === 'none' ? undefined : Math.max(1024, Math.min(2000, max - 1));
  const thinks = budget !== undefined && budget < max;
  return {
    max_tokens: max,
    messages: entries.flatMap((entry, index) => messageTurns(entry, cached[index % cached.length])),
    ...has(
      'tools',
      tools.length === 0
        ? undefined
        : tools.map(({ schema = { type: 'object', properties: {} }, ...tool }) => ({
            ...tool,
            input_schema: { type: 'object', ...schema },
          })),
    ),
    ...(choice !== undefined &&
      tools.length > 0 && {
        tool_choice: {
          ...(typeof choice === 'object' ? { type: 'tool', ...choice } : { type: choices[choice] }),
          ...(parallel === false && choice !== 'none' && { disable_parallel_tool_use: true }),
        },
      }),
    ...(typeof format === 'object' && {
      output_config: { format: { type: 'json_schema', schema: format.schema } },
    }),
    ...has('temperature', temperature === undefined ? undefined : Math.min(temperature, 1)),
    ...has('top_p', top_p),
    ...has('stop_sequences', stop),
    ...(thinks && { thinking: { type: 'enabled', budget_tokens: budget } }),
    ...has('metadata', user === undefined ? undefined : { user_id: user }),
  };
}

function messageTurns(entry: Entry, cached: Talk['cached'][number] | undefined): Fields[] {
  if (entry.kind === 'system') return [{ role: 'system', content: entry.text }];
  if (entry.kind === 'user') {
    const content = entry.parts.map((part): Fields => {
      if (part.kind === 'text')
        return { type: 'text', text: part.text, ...(cached && part.text && { cache_control: markOf(cached) }) };
      if (part.kind === 'image') return messageImage(part.url);
      return {
        type: 'document',
        title: part.name,
        source: { type: 'text', media_type: 'text/plain', data: part.text },
      };
    });
    return [{ role: 'user', content }];
  }
  const content = [
    ...(entry.thoughts === undefined ? [] : [{ type: 'thinking', thinking: entry.thoughts, signature: 'c2lnbmVk' }]),
    ...(entry.text === '' ? [] : [{ type: 'text', text: entry.text }]),
    ...entry.calls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })),
  ];
  const results = answered(entry.calls).map(({ id, result }) => ({
    type: 'tool_result',
    tool_use_id: id,
    content:
      result.image === undefined ? result.text : [{ type: 'text', text: result.text }, messageImage(result.image)],
  }));
  return [
    ...(content.length === 0 ? [] : [{ role: 'assistant', content }]),
    ...(results.length === 0 ? [] : [{ role: 'user', content: results }]),
  ];
}

function messageImage(url: string): Fields {
  const found = /^data:([^;]+);base64,(.*)$/.exec(url);
  return {
    type: 'image',
    source: found ? { type: 'base64', media_type: found[1], data: found[2] } : { type: 'url', url },
  };
}

function writeGemini({ entries, tools, choice, format, settings }: Talk): Fields {
  const { temperature, top_p, stop, max, effort, seed, penalty, user } = settings;
  const system = entries.flatMap((entry) =>
    entry.kind === 'system' && entry.text.trim() ? [{ text: entry.text }] : [],
  );
  const contents = entries.flatMap(geminiContents);
  const modes = { auto: 'AUTO', none: 'NONE', required: 'ANY' };
  const chosen = typeof choice === 'object' ? { mode: 'ANY', allowedFunctionNames: [choice.name] } : undefined;
  return {
    contents: contents.length > 0 ? contents : [{ role: 'user', parts: [{ text: 'Hi' }] }],
    ...(system.length > 0 && { systemInstruction: { parts: system } }),
    ...(tools.length > 0 && {
      tools: [
        {
          functionDeclarations: tools.map(({ name, description, schema }) => ({
            name,
            ...has('description', description),
            ...has('parametersJsonSchema', schema),
          })),
        },
      ],
    }),
    ...(choice !== undefined && {
      toolConfig: { functionCallingConfig: chosen ?? { mode: modes[choice as keyof typeof modes] } },
    }),
    generationConfig: {
      ...(format && { responseMimeType: 'application/json' }),
      ...(typeof format === 'object' && { responseJsonSchema: format.schema }),
      ...has('temperature', temperature),
      ...has('topP', top_p),
      ...has('stopSequences', stop?.slice(0, 5)),
      ...has('maxOutputTokens', max),
      ...has('seed', seed),
      ...has('frequencyPenalty', penalty),
      ...(effort && ['minimal', 'low', 'medium', 'high'].includes(effort)
        ? { thinkingConfig: { thinkingLevel: effort.toUpperCase() } }
        : {}),
    },
    ...has('user', user),
  };
}

function geminiContents(entry: Entry): Fields[] {
  if (entry.kind === 'system') return [];
  if (entry.kind === 'user') {
    const parts = entry.parts.map((part): Fields => {
      if (part.kind === 'text') return { text: part.text };
      if (part.kind === 'image') return geminiImage(part.url);
      return { inlineData: { mimeType: 'text/plain', displayName: part.name, data: dataOf(part.text) } };
    });
    return [{ role: 'user', parts }];
  }
  const parts = [
    ...(entry.thoughts === undefined ? [] : [{ text: entry.thoughts, thought: true }]),
    ...(entry.text === '' ? [] : [{ text: entry.text }]),
    ...entry.calls.map(({ id, name, input }) => ({ functionCall: { id, name, args: input } })),
  ];
  const results = answered(entry.calls).map(({ id, name, result }) => ({
    functionResponse: {
      id,
      name,
      response: { output: result.text },
      ...(result.image?.startsWith('data:') && { parts: [geminiImage(result.image)] }),
    },
  }));
  return [
    ...(parts.length === 0 ? [] : [{ role: 'model', parts }]),
    ...(results.length === 0 ? [] : [{ role: 'user', parts: results }]),
  ];
}

function geminiImage(url: string): Fields {
  const found = /^data:([^;]+);base64,(.*)$/.exec(url);
  if (found) return { inlineData: { mimeType: found[1], data: found[2] } };
  return { fileData: { mimeType: 'image/png', fileUri: url } };
}
