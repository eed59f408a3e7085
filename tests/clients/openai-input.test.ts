import type {
  ResponseInput,
  ResponseInputContent,
  ResponseInputItem,
  ResponseOutputItem,
} from 'openai/resources/responses/responses';
import { afterAll, describe, expect, it } from 'vitest';
import { startBackEnds } from './back-end.ts';
import { openaiClient } from './openai-client.ts';

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

const png = `data:image/png;base64,${Buffer.from('not really a picture').toString('base64')}`;
const pdf = `data:application/pdf;base64,${Buffer.from('%PDF-1.7 not really').toString('base64')}`;

describe.each(backEnds.all)('input from the openai client with $kind', (backEnd) => {
  const client = openaiClient(backEnd);
  const { model, kind } = backEnd;

  it('sends an image and a file in data URLs to the provider', async () => {
    const text = backEnd.script('What is this?', { text: 'A cat.' });
    backEnd.takeUpstreamBodies();

    const response = await client.responses.create({
      model,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text },
            { type: 'input_image', image_url: png, detail: 'low' },
            { type: 'input_file', filename: 'note.pdf', file_data: pdf },
          ],
        },
      ],
    });

    expect(response.output_text).toBe('A cat.');
    const [body] = backEnd.takeUpstreamBodies();
    if (kind === 'openai-chat') {
      const content = [
        { type: 'text', text },
        { type: 'image_url', image_url: { url: png, detail: 'low' } },
        { type: 'file', file: { filename: 'note.pdf', file_data: pdf } },
      ];
      expect(body?.messages).toEqual([{ role: 'user', content }]);
    }
    if (kind === 'openai-responses') {
      const content = [
        { type: 'input_text', text },
        { type: 'input_image', image_url: png, detail: 'low' },
        { type: 'input_file', filename: 'note.pdf', file_data: pdf },
      ];
      expect(body?.input).toMatchObject([{ role: 'user', content }]);
    }
  });

  it('accepts a long conversation with messages of every role', async () => {
    const input: ResponseInput = [
      { role: 'system', content: 'You are a poet.' },
      { role: 'developer', content: [{ type: 'input_text', text: 'Rhyme.' }] },
      { role: 'user', content: 'A line, please.' },
      { role: 'assistant', content: 'The gate stood wide.' },
      { role: 'user', content: [{ type: 'input_text', text: backEnd.script('Next', { text: 'We went inside.' }) }] },
    ];

    const response = await client.responses.create({ model, input, instructions: 'In English.' });

    expect(response.output_text).toBe('We went inside.');
  });

  it('accepts the complete output of a response as input, including reasoning', async () => {
    const secret = 'gAAAAABpHyQo-encrypted-reasoning';
    const turn = { reasoning: 'Seven times six.', encrypted: secret, text: 'It is 42.' };
    const first = await client.responses
      .stream({ model, input: backEnd.script('7 x 6?', turn), include: ['reasoning.encrypted_content'] })
      .finalResponse();
    const sealed = kind === 'gemini' ? ['reasoning'] : []; // its signature follows the text
    expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'message', ...sealed]);

    const input: ResponseInput = [
      { role: 'user', content: '7 x 6?' },
      ...(first.output as ResponseInputItem[]),
      { role: 'user', content: backEnd.script('Sure?', { text: 'Yes.' }) },
    ];
    backEnd.takeUpstreamBodies();
    const second = await client.responses.create({ model, input, include: ['reasoning.encrypted_content'] });

    expect(second.output_text).toBe('Yes.');
    const [body] = backEnd.takeUpstreamBodies();
    if (kind === 'openai-responses') {
      expect(body?.input).toMatchObject([
        { role: 'user' },
        { type: 'reasoning', encrypted_content: secret, summary: [{ type: 'summary_text', text: 'Seven times six.' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It is 42.' }] },
        { role: 'user', content: 'Sure?' },
      ]);
    }
    if (kind === 'gemini') {
      expect(body?.contents).toMatchObject([
        { role: 'user' },
        { role: 'model', parts: [{ text: 'It is 42.' }, { text: '', thoughtSignature: secret }] },
        { role: 'user', parts: [{ text: 'Sure?' }] },
      ]);
    }
    if (kind === 'anthropic-messages') {
      expect(body?.messages).toMatchObject([
        { role: 'user' },
        { role: 'assistant', content: [{ type: 'redacted_thinking', data: secret }, { text: 'It is 42.' }] },
        { role: 'user', content: [{ text: 'Sure?' }] },
      ]);
    }
    if (kind === 'openai-chat') {
      expect(body?.messages).toMatchObject([
        { role: 'user', content: '7 x 6?' },
        { role: 'assistant', content: 'It is 42.' },
        { role: 'user', content: 'Sure?' },
      ]);
    }
  });

  it('accepts null wherever the types of the client allow it', async () => {
    const nulls = {
      background: null,
      include: null,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: null,
      parallel_tool_calls: null,
      previous_response_id: null,
      prompt: null,
      reasoning: null,
      service_tier: null,
      store: null,
      stream_options: null,
      temperature: null,
      top_logprobs: null,
      top_p: null,
      truncation: null,
    };
    const text = backEnd.script('Hello', { text: 'Hello.' });

    const response = await client.responses.create({
      ...nulls,
      model,
      input: [
        {
          role: 'user',
          phase: null,
          content: [{ type: 'input_image', image_url: png, file_id: null, detail: 'auto' }],
        },
        { type: 'function_call', call_id: 'call_1', name: 'now', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: '12:00', id: null, status: null },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: null },
        { role: 'user', content: text },
      ],
      tools: [{ type: 'function', name: 'now', description: null, parameters: null, strict: null }],
      text: { verbosity: null },
    });

    expect(response.output_text).toBe('Hello.');
  });

  it('accepts items with null for every absent field, as typed clients write them', async () => {
    const turn = { reasoning: 'Look it up.', text: 'A moment.', calls: [{ name: 'now', input: {} }] };
    const tools = [{ type: 'function' as const, name: 'now', parameters: {}, strict: null }];
    const prompt = { role: 'user' as const, content: backEnd.script('Time?', turn, { text: 'It is 12:00.' }) };
    const { output } = await client.responses.create({ model, input: [prompt], tools });
    backEnd.takeUpstreamBodies();

    const response = await client.responses.create({
      model,
      input: [prompt, ...output.map(withNulls), ...outputsOf(output)],
      tools,
    });

    expect(output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call']);
    expect(response.output_text).toBe('It is 12:00.');
    if (kind === 'openai-responses') {
      const [body] = backEnd.takeUpstreamBodies();
      expect(JSON.stringify(body?.input)).not.toContain('"namespace":null');
    }
  });
});

/** As `model_dump()` of the Python client writes it. */
function withNulls(item: ResponseOutputItem): ResponseInputItem {
  const nulls: Record<string, object> = {
    reasoning: { content: null, encrypted_content: null, status: null },
    message: { phase: null },
    function_call: { async: null, namespace: null, status: null },
  };
  const filled: object = { ...nulls[item.type], ...item };
  if (item.type !== 'message') return filled as ResponseInputItem; // except for the nulls
  const content = item.content.map((part) => ({ annotations: null, logprobs: null, ...part }));
  return { ...filled, content } as ResponseInputItem; // the same
}

function outputsOf(output: ResponseOutputItem[]): ResponseInputItem[] {
  return output.flatMap((item) =>
    item.type === 'function_call' ? [{ type: 'function_call_output', call_id: item.call_id, output: '12:00' }] : [],
  );
}

it('names the input that a package of the AI SDK cannot send, and does not blame the provider', async () => {
  const backEnd = backEnds.all.find(({ kind }) => kind === 'ai-sdk')!;
  const client = openaiClient(backEnd);
  const ask = (part: ResponseInputContent) =>
    client.responses.create({ model: backEnd.model, input: [{ role: 'user', content: [part] }] });

  const text = ask({ type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,aGVsbG8=' });
  await expect(text).rejects.toMatchObject({ status: 400, message: expect.stringContaining('text/plain') });
  const address = ask({ type: 'input_image', image_url: 'ftp://a.example/b.png', detail: 'auto' });
  await expect(address).rejects.toMatchObject({ status: 400, message: expect.stringContaining('neither http') });
});
