import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReasoningItem } from '../../domain/items.ts';
import { writeReasoningDetails } from '../../domain/reasoning-details.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { writeRequest } from '../../providers/openai-chat/request.ts';
import type { Target } from '../../providers/wire.ts';
import { checkChatBody, readChat, translateChat } from './request.ts';
import type { ChatBody } from './schema.ts';

/** A server that has every field. */
const target = {
  endpoint: 'acme/model at acme',
  upstreamModel: 'acme/model',
  stream: false,
  dialect: {
    developer_role: true,
    reasoning_details: true,
    cache_control: true,
    metadata: true,
    top_k: true,
    reasoning: 'reasoning',
  },
} as unknown as Target;

/** Translates a body into a request and back. */
function returnBody(body: object): { body: Record<string, unknown>; dropped: readonly string[] } {
  const { read } = readChat(checkChatBody(structuredClone(body)), {});
  const written = writeRequest(read.request, target);
  return { body: written.body as Record<string, unknown>, dropped: written.dropped };
}

const text = fc.string({ minLength: 1, maxLength: 12 });
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const mark = { cache_control: fc.constant({ type: 'ephemeral' }) };
const richPart = fc.oneof(
  fc.record({ type: fc.constant('text'), text, ...mark }),
  fc.record({
    type: fc.constant('image_url'),
    image_url: fc.record(
      { url: fc.webUrl(), detail: fc.constantFrom('auto', 'low', 'high') },
      { requiredKeys: ['url'] },
    ),
  }),
  fc.record({
    type: fc.constant('file'),
    file: fc.record({ file_data: fc.constant('data:application/pdf;base64,AAAA'), filename: text }),
  }),
  fc.record({ type: fc.constant('input_audio'), input_audio: fc.constant({ data: 'AAAA', format: 'wav' }) }),
  fc.record({ type: fc.constant('video_url'), video_url: fc.record({ url: fc.webUrl() }) }),
);
const content = fc.oneof(text, fc.array(richPart, { minLength: 1, maxLength: 3 }));
const named = <Role extends string>(role: Role) =>
  fc.record({ role: fc.constant(role), content, name: text }, { requiredKeys: ['role', 'content'] });

/** Opaque values must come back to the letter. */
const opaque = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 });
const reasoning: fc.Arbitrary<ReasoningItem> = fc
  .record({
    id: fc.stringMatching(/^rs_[a-z0-9]{6}$/),
    texts: fc.array(text, { maxLength: 3 }),
    summaries: fc.array(text, { maxLength: 2 }),
    signature: maybe(opaque),
    encrypted: maybe(opaque),
    format: fc.constantFrom('anthropic-claude-v1' as const, 'openai-responses-v1' as const),
  })
  .map(({ id, texts, summaries, signature, encrypted, format }) => ({
    type: 'reasoning' as const,
    id,
    summary: summaries.map((each) => ({ type: 'summary_text' as const, text: each })),
    content: texts.map((each) => ({ type: 'reasoning_text' as const, text: each })),
    ...(signature && { signature }),
    ...(encrypted && { encrypted_content: encrypted }),
    format,
  }));

/** A message of the assistant, with an output for each of its calls. */
const turn = fc
  .record({
    key: fc.uuid(),
    reasoning: fc.uniqueArray(reasoning, { maxLength: 2, selector: ({ id }) => id }),
    content: text,
    calls: fc.array(fc.record({ name: fc.stringMatching(/^[a-z_]{1,8}$/), value: text, output: content }), {
      maxLength: 3,
    }),
  })
  .map(({ key, reasoning: items, content: said, calls }) => {
    const details = items.flatMap((item) => writeReasoningDetails(item));
    const ids = calls.map((_, at) => `call_${key}_${at}`);
    return [
      {
        role: 'assistant',
        content: said,
        ...(details.length > 0 && { reasoning_details: details }),
        ...(calls.length > 0 && {
          tool_calls: calls.map(({ name, value }, at) => ({
            id: ids[at],
            type: 'function',
            function: { name, arguments: JSON.stringify({ value }) },
          })),
        }),
      },
      ...calls.map(({ output }, at) => ({ role: 'tool', tool_call_id: ids[at], content: output })),
    ];
  });

const conversation = fc
  .tuple(
    fc.array(fc.oneof(named('system'), named('developer')), { maxLength: 2 }),
    fc.array(fc.tuple(named('user'), turn), { maxLength: 3 }),
    named('user'),
  )
  .map(([first, turns, last]): object[] => [...first, ...turns.flatMap(([user, answer]) => [user, ...answer]), last]);

const settings = fc.record(
  {
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    top_p: fc.double({ min: 0, max: 1, noNaN: true }),
    top_k: fc.integer({ min: 1, max: 100 }),
    min_p: fc.constant(0.1),
    top_a: fc.constant(0.2),
    repetition_penalty: fc.constant(1.1),
    frequency_penalty: fc.double({ min: -2, max: 2, noNaN: true }),
    presence_penalty: fc.double({ min: -2, max: 2, noNaN: true }),
    max_completion_tokens: fc.integer({ min: 1, max: 9999 }),
    stop: fc.array(text, { minLength: 1, maxLength: 4 }),
    seed: fc.integer(),
    logit_bias: fc.dictionary(fc.stringMatching(/^[1-9][0-9]{0,4}$/), fc.integer({ min: -100, max: 100 })),
    prediction: fc.record({ type: fc.constant('content'), content: text }),
    prompt_cache_key: text,
    prompt_cache_retention: fc.constant('24h'),
    metadata: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), text, { maxKeys: 4 }),
    service_tier: fc.constantFrom('flex', 'priority'),
    verbosity: fc.constantFrom('low', 'high'),
    reasoning: fc.record({ effort: fc.constantFrom('low', 'high') }),
    response_format: fc.oneof(
      fc.constant({ type: 'json_object' }),
      fc.record({
        type: fc.constant('json_schema'),
        json_schema: fc.record({
          name: fc.constant('answer'),
          description: text,
          schema: fc.constant({ type: 'object', properties: { a: { type: 'string' } } }),
          strict: fc.boolean(),
        }),
      }),
    ),
    modalities: fc.constant(['text', 'image']),
    image_config: fc.constant({ aspect_ratio: '16:9' }),
    cache_control: fc.constant({ type: 'ephemeral' }),
  },
  { requiredKeys: [] },
);

const tools = fc.record(
  {
    tools: fc.uniqueArray(
      fc.record({
        type: fc.constant('function'),
        function: fc.record(
          {
            name: fc.stringMatching(/^[a-z_]{1,8}$/),
            description: text,
            parameters: fc.constant({ type: 'object', properties: {} }),
            strict: fc.constant(true), // false is the default, which is not sent
          },
          { requiredKeys: ['name', 'parameters'] },
        ),
      }),
      { minLength: 1, maxLength: 3, selector: (tool) => tool.function.name },
    ),
    tool_choice: fc.constantFrom('auto', 'none', 'required'),
    parallel_tool_calls: fc.boolean(),
  },
  { requiredKeys: ['tools'] },
);

const withoutIndex = (messages: unknown): unknown =>
  JSON.parse(JSON.stringify(messages, (key, value: unknown) => (key === 'index' ? undefined : value)));

describe('a chat completion that is translated into a request and back', () => {
  it('keeps every message and every setting that the format has', () => {
    fc.assert(
      fc.property(conversation, settings, maybe(tools), (messages, given, offered) => {
        const sent = { model: 'acme/model', messages, ...given, ...offered };
        const { body, dropped } = returnBody(sent);

        expect(dropped).toEqual([]);
        expect(withoutIndex(body['messages'])).toEqual(withoutIndex(messages));
        expect({ ...body, messages: 0 }).toEqual({ ...sent, messages: 0 });
      }),
      { numRuns: 150 },
    );
  });

  it('joins the pieces of streamed reasoning to the letter', () => {
    fc.assert(
      fc.property(reasoning, fc.integer({ min: 1, max: 5 }), (item, size) => {
        const pieces = writeReasoningDetails(item).flatMap((detail) => {
          const { text: plain, signature, ...rest } = detail;
          if (plain === undefined || plain === null) return [detail];
          const parts = plain.match(new RegExp(`[\\s\\S]{1,${size}}`, 'gu')) ?? [''];
          const streamed = parts.map((part) => ({ ...rest, text: part }));
          return signature ? [...streamed, { ...rest, text: '', signature }] : streamed;
        });
        const messages = [{ role: 'assistant', content: 'x', reasoning_details: pieces }] as ChatBody['messages'];
        const [read] = translateChat({ messages }).input as ResponseRequest['input'];
        const isEmpty = pieces.length === 0;
        expect(isEmpty ? undefined : writeReasoningDetails(read as ReasoningItem)).toEqual(
          isEmpty ? undefined : writeReasoningDetails(item),
        );
      }),
      { numRuns: 100 },
    );
  });
});
