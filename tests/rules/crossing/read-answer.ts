import type { InboundApi } from '../strict-lab.ts';

type Fields = Record<string, unknown>;

/** What a client got: the calls and the text, and what it sends in the next turn. */
export interface Answer {
  text: string;
  calls: { id: string; name: string; input: Fields }[];
  /** The messages or items of the next request, before the results. */
  back: Fields[];
}

/** Reads a response, streamed or not, as a client of its API does. */
export const readAnswer = (api: InboundApi, body: string, stream: boolean): Answer =>
  readers[api](stream ? folders[api](framesOf(body)) : (JSON.parse(body) as Fields));

const framesOf = (body: string): Fields[] =>
  body
    .split('\n')
    .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
    .map((line) => JSON.parse(line.slice(6)) as Fields);

const parse = (text: unknown): Fields => JSON.parse(String(text) || '{}') as Fields;

interface ChatCall {
  index?: number;
  id: string;
  function: { name: string; arguments: string };
}

const readers = {
  responses(response: Fields): Answer {
    const output = response['output'] as Fields[];
    const texts = output.flatMap((item) => (item['type'] === 'message' ? (item['content'] as Fields[]) : []));
    return {
      text: texts.map(({ text }) => text).join(''),
      calls: output
        .filter(({ type }) => type === 'function_call')
        .map((item) => ({ id: String(item['call_id']), name: String(item['name']), input: parse(item['arguments']) })),
      back: output,
    };
  },
  chat(response: Fields): Answer {
    const [choice] = response['choices'] as { message: Fields }[];
    const { message } = choice!;
    const calls = (message['tool_calls'] ?? []) as ChatCall[];
    return {
      text: String(message['content'] ?? ''),
      calls: calls.map((call) => ({ id: call.id, name: call.function.name, input: parse(call.function.arguments) })),
      back: [message],
    };
  },
  messages(response: Fields): Answer {
    const content = response['content'] as Fields[];
    return {
      text: content.map(({ text }) => text ?? '').join(''),
      calls: content
        .filter(({ type }) => type === 'tool_use')
        .map(({ id, name, input }) => ({ id: String(id), name: String(name), input: input as Fields })),
      back: [{ role: 'assistant', content }],
    };
  },
  gemini(response: Fields): Answer {
    const [candidate] = response['candidates'] as { content: { parts?: Fields[] }; finishReason: string }[];
    const { content, finishReason } = candidate!;
    if (!finishReason) throw new Error('The response has no reason.');
    const parts = content.parts ?? [];
    const calls = parts.flatMap(({ functionCall }) => (functionCall ? [functionCall as Fields] : []));
    return {
      text: parts.map(({ text, thought }) => (thought ? '' : (text ?? ''))).join(''),
      calls: calls.map(({ id, name, args }) => ({ id: String(id), name: String(name), input: args as Fields })),
      back: [{ role: 'model', parts }],
    };
  },
};

const folders = {
  responses: (frames: Fields[]): Fields => frames.findLast(({ response }) => response)!['response'] as Fields,
  chat(frames: Fields[]): Fields {
    const message: Fields = { role: 'assistant', content: '' };
    const calls: ChatCall[] = [];
    for (const frame of frames) {
      const delta = (frame['choices'] as { delta?: Fields }[])[0]?.delta ?? {};
      message['content'] = `${String(message['content'])}${String(delta['content'] ?? '')}`;
      for (const field of ['reasoning_details']) {
        if (delta[field]) message[field] = [...((message[field] as object[]) ?? []), ...(delta[field] as object[])];
      }
      for (const piece of (delta['tool_calls'] ?? []) as Partial<ChatCall>[]) {
        const index = piece.index!; // the gateway sends it with every piece
        calls[index] ??= { ...piece, function: { name: '', arguments: '' } } as ChatCall; // the first piece has the id
        const call = calls[index];
        if (piece.function?.name) call.function.name = piece.function.name;
        call.function.arguments += piece.function?.arguments ?? '';
      }
    }
    if (calls.length > 0) message['tool_calls'] = calls.map(({ index: _, ...call }) => call);
    return { choices: [{ message }] };
  },
  messages(frames: Fields[]): Fields {
    const content: Fields[] = [];
    const inputs: string[] = [];
    for (const { type, index, content_block: block, delta } of frames as Record<string, unknown>[]) {
      if (type === 'content_block_start') content[index as number] = { ...(block as object) };
      if (type !== 'content_block_delta') continue;
      const fields = delta as Fields;
      const at = content[index as number]!;
      for (const name of ['text', 'thinking', 'signature'])
        if (fields[name] !== undefined) at[name] = `${String(at[name] ?? '')}${String(fields[name])}`;
      if (fields['partial_json'] !== undefined)
        inputs[index as number] = `${inputs[index as number] ?? ''}${String(fields['partial_json'])}`;
    }
    for (const [index, block] of content.entries())
      if (block['type'] === 'tool_use') block['input'] = parse(inputs[index] ?? '');
    return { content };
  },
  gemini(frames: Fields[]): Fields {
    const candidates = frames.map((frame) => (frame['candidates'] as [Fields])[0]);
    const parts = candidates.flatMap(({ content }) => (content as { parts: Fields[] }).parts);
    return { candidates: [{ ...candidates.at(-1), content: { parts } }] };
  },
};

/** Writes what a client sends after an answer: its calls with results, and a question. */
export function writeNext(
  api: InboundApi,
  { back, calls }: Answer,
  texts: { result: string; question: string },
): Fields[] {
  const { result, question } = texts;
  switch (api) {
    case 'responses':
      return [
        ...back,
        ...calls.map(({ id }) => ({ type: 'function_call_output', call_id: id, output: result })),
        { type: 'message', role: 'user', content: question },
      ];
    case 'chat':
      return [
        ...back,
        ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: result })),
        { role: 'user', content: question },
      ];
    case 'gemini':
      return [
        ...back,
        {
          role: 'user',
          parts: [
            ...calls.map(({ id, name }) => ({ functionResponse: { id, name, response: { output: result } } })),
            { text: question },
          ],
        },
      ];
    default:
      return [
        ...back,
        {
          role: 'user',
          content: [
            ...calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: result })),
            { type: 'text', text: question },
          ],
        },
      ];
  }
}
