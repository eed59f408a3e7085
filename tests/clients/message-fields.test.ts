import Anthropic from '@anthropic-ai/sdk';
import { afterAll, describe, expect, it } from 'vitest';
import { startBackEnds } from './back-end.ts';
import { collect } from './collect.ts';
import type { Turn } from './turn.ts';

/*
 * Fields that the newest public schema of messages requires. Typed clients reject a response without them. A provider of
 * the same format writes its own.
 */

const backEnds = await startBackEnds();
afterAll(() => backEnds.close());

const translated = backEnds.all.filter(({ kind }) => kind !== 'anthropic-messages' && kind !== 'simulator');

describe.each(translated)('messages with $kind', (backEnd) => {
  const { gateway, model } = backEnd;
  const client = new Anthropic({ baseURL: `${gateway.url}/api`, apiKey: gateway.key, maxRetries: 0 });
  const body = (...more: Turn[]) => ({
    model,
    max_tokens: 500,
    messages: [
      {
        role: 'user' as const,
        content: backEnd.script('Well?', { calls: [{ name: 'f', input: { a: 1 } }] }, ...more),
      },
    ],
    tools: [{ name: 'f', input_schema: { type: 'object' as const } }],
  });
  const counts = {
    cache_creation: null,
    inference_geo: null,
    speed: null,
    server_tool_use: null,
    service_tier: expect.toSatisfy((tier: unknown) => tier === null || typeof tier === 'string'),
  };
  const call = { type: 'tool_use', name: 'f', caller: { type: 'direct' } };

  it('are complete', async () => {
    const message = await client.messages.create(body());
    expect(message).toMatchObject({
      container: null,
      diagnostics: null,
      stop_details: null,
      stop_sequence: null,
      usage: counts,
    });
    expect(message.usage).toHaveProperty('output_tokens_details');
    expect(message.content.at(-1)).toMatchObject({ ...call, input: { a: 1 } });
  });

  it('are complete in a stream', async () => {
    const events = await collect(await client.messages.create({ ...body(), stream: true }));
    const [start] = events;
    expect(start).toMatchObject({
      type: 'message_start',
      message: { container: null, diagnostics: null, stop_details: null, usage: counts },
    });
    const begun = events.flatMap((event) => (event.type === 'content_block_start' ? [event.content_block] : []));
    expect(begun.at(-1)).toMatchObject(call);
    expect(events.find(({ type }) => type === 'message_delta')).toMatchObject({
      delta: { container: null, stop_details: null, stop_reason: 'tool_use', stop_sequence: null },
      usage: { server_tool_use: null },
    });
  });

  it('return a call with its caller, without naming it as dropped', async () => {
    const asked = body({ text: 'Done.' });
    const { content } = await client.messages.create(asked);
    const results = content.flatMap((block) =>
      block.type === 'tool_use' ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'done' }] : [],
    );
    const messages = [
      ...asked.messages,
      { role: 'assistant' as const, content },
      { role: 'user' as const, content: results },
    ];
    const { response } = await client.messages.create({ ...asked, messages }).withResponse();
    expect(response.headers.get('x-router-dropped-fields') ?? '').not.toContain('caller');
  });
});
