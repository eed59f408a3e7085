import { expect, it } from 'vitest';
import { checkChatBody, readChat } from './chat/request.ts';
import { readEmbeddingRequest } from './embeddings/request.ts';
import { checkMessagesBody, readMessagesRequest } from './messages/request.ts';
import { readRerankRequest } from './rerank/request.ts';

const model = 'a/b';
const limits = { maxItems: 10, setting: 'embeddings.max_inputs' };
const chat = (...messages: object[]) => readChat(checkChatBody({ model, messages }), {}).read;

it('names the unknown fields of messages, parts and calls of a chat completion', () => {
  const data = 'data:application/pdf;base64,AAAA';
  const read = chat(
    {
      role: 'user',
      mood: 1,
      content: [
        { type: 'text', text: 'a', tone: 1 },
        { type: 'image_url', image_url: { url: 'https://a.example/a.png', format: 'png' }, size: null },
        { type: 'file', file: { file_data: data, pages: 2 } },
      ],
    },
    {
      role: 'assistant',
      parsed: {},
      tool_calls: [
        { id: 'c1', index: 0, function: { name: 'f', arguments: '{}', parsed: 1 } },
        { id: 'c2', type: 'custom', custom: { name: 'g', input: '' }, extra_content: {} },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'x', is_error: true },
  );
  expect(read.ignoredFields).toEqual([
    'messages[0].mood',
    'messages[0].content[0].tone',
    'messages[0].content[1].image_url.format',
    'messages[0].content[2].file.pages',
    'messages[1].parsed',
    'messages[1].tool_calls[0].function.parsed',
    'messages[1].tool_calls[1].extra_content',
    'messages[2].is_error',
  ]);
});

it('names none of the fields of a completion that is sent back', () => {
  const annotation = { type: 'file', file: { hash: 'h', content: [] } };
  const details = [{ type: 'reasoning.text', text: 'Hm.', id: 'rs_1', index: 0, format: null, signature: null }];
  const read = chat(
    { role: 'user', name: 'ada', content: 'Hi' },
    {
      role: 'assistant',
      content: 'Read.',
      refusal: null,
      reasoning: 'Hm.',
      reasoning_details: details,
      annotations: [],
      file_annotations: [annotation],
      images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' }, index: 0 }],
    },
  );
  expect(read.ignoredFields).toEqual([]);
  expect(read.request.input.at(-1)).toMatchObject({ content: [{ text: 'Read.', annotations: [annotation] }] });
});

it('names the unknown fields of turns of a message', () => {
  const body = { model, messages: [{ role: 'user', content: 'Hi', mood: 1 }] };
  const { ignoredFields } = readMessagesRequest(checkMessagesBody(body), { version: undefined, betas: [] }, {});
  expect(ignoredFields).toEqual(['messages[0].mood']);
});

it('names the unknown fields of inputs and documents', () => {
  const input = [
    { content: [{ type: 'text', text: 'a', tone: 1 }], id: 1 },
    { content: [{ type: 'image_url', image_url: { url: 'https://a.example/a.png', detail: 'low' } }] },
  ];
  expect(readEmbeddingRequest({ model, input, mood: 1 }, limits).ignoredFields).toEqual([
    'mood',
    'input[0].id',
    'input[0].content[0].tone',
    'input[1].content[0].image_url.detail',
  ]);
  const documents = ['a', { text: 'b', title: 'B' }];
  expect(readRerankRequest({ model, query: 'q', documents, rank_fields: [] }, limits).ignoredFields).toEqual([
    'rank_fields',
    'documents[1].title',
  ]);
});
