import { describe, expect, it } from 'vitest';
import type { Chunk, FinishChunk } from '../../domain/chunks.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { OtherEvent } from '../../domain/events.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { ResponseObject } from '../../domain/response.ts';
import { EventBuilder } from './build-events.ts';
import { createResponseObject } from './response-object.ts';

const builder = (): EventBuilder =>
  new EventBuilder({
    base: () => createResponseObject({}, 'resp_1', 0, 'acme/one'),
    model: () => 'acme/one',
    settle: () => ({ usage: null, serviceTier: null, routerMetadata: undefined }),
    now: () => 7,
    limitBytes: 1024 * 1024,
  });
const stop: FinishChunk = { type: 'finish', reason: 'stop' };

const build = (...chunks: Chunk[]): OtherEvent[] => builder().build(chunks) as OtherEvent[];
const types = (events: OtherEvent[]): string[] => events.map(({ type }) => type.replace('response.', ''));
const responseOf = (events: OtherEvent[]): ResponseObject => events.at(-1)!['response'] as ResponseObject;
const text = (delta: string): Chunk => ({ type: 'text', delta });

describe('the builder of events', () => {
  it('emits nothing before there is output', () => {
    const events = builder();
    expect(events.build([{ type: 'start', model: 'm' }])).toEqual([]);
    expect(events.started).toBe(false);
    expect(types(events.build([text('a')]) as OtherEvent[]).slice(0, 2)).toEqual(['created', 'in_progress']);
    expect(events.started).toBe(true);
  });

  it('gathers the log probabilities of half a million tokens, and leaves each delta its own', () => {
    const count = 500_000;
    const events = builder();
    const delta: Chunk = { type: 'text', delta: 'a', logprobs: [{ token: 'a', logprob: -1 }] };
    for (let token = 1; token < count; token++) events.build([delta]);
    const last = events.build([delta, stop]) as OtherEvent[];
    expect(last.find(({ type }) => type === 'response.output_text.delta')?.['logprobs']).toHaveLength(1);
    expect(last.find(({ type }) => type === 'response.output_text.done')?.['logprobs']).toHaveLength(count);
  });

  it('completes a response without output as empty', () => {
    const events = build(stop);
    expect(types(events)).toEqual(['created', 'in_progress', 'completed']);
    expect(responseOf(events)).toMatchObject({ status: 'completed', completed_at: 7, output: [] });
  });

  it('emits nothing after the end', () => {
    const events = builder();
    events.build([text('a'), stop, text('b'), stop]);
    expect(events.ended).toBe(true);
    expect(events.build([text('c')])).toEqual([]);
    expect(events.fail(new GatewayError('internal', 'late'))).toEqual([]);
  });

  it('makes one message of text that goes on, and a new one behind a call', () => {
    const { output } = responseOf(
      build(text('a'), text('b'), { type: 'tool_call', callId: 'c', name: 'f' }, text('d'), stop),
    );
    expect(output.map(({ type }) => type)).toEqual(['message', 'function_call', 'message']);
    expect(output[0]).toMatchObject({ content: [{ type: 'output_text', text: 'ab' }], status: 'completed' });
  });

  it('makes a refusal behind text a second part of the same message', () => {
    const { output } = responseOf(build(text('a'), { type: 'refusal', delta: 'no' }, stop));
    expect(output).toMatchObject([{ content: [{ text: 'a' }, { type: 'refusal', refusal: 'no' }] }]);
  });

  it('adds no text to reasoning that is sealed', () => {
    const { output } = responseOf(
      build(
        { type: 'reasoning', delta: 'one' },
        { type: 'reasoning_seal', format: 'unknown' as never, signature: 's' },
        { type: 'reasoning', delta: 'two' },
        stop,
      ),
    );
    expect(output).toMatchObject([
      { type: 'reasoning', signature: 's', content: [{ text: 'one' }] },
      { type: 'reasoning', content: [{ text: 'two' }] },
    ]);
  });

  it('begins a summary part with each new number', () => {
    const summary = (part: number, delta: string): Chunk => ({ type: 'reasoning_summary', part, delta });
    const events = build(summary(0, 'a'), summary(0, 'b'), summary(4, 'c'), stop);
    expect(responseOf(events).output).toMatchObject([{ summary: [{ text: 'ab' }, { text: 'c' }] }]);
    const indexes = events.filter(({ type }) => type.endsWith('part.added')).map((event) => event['summary_index']);
    expect(indexes).toEqual([0, 1]);
  });

  it('marks as incomplete the item that a limit cut, and only that', () => {
    const { output } = responseOf(
      build(
        { type: 'tool_call', callId: 'a', name: 'f' },
        { type: 'tool_call', callId: 'b', name: 'f' },
        { type: 'finish', reason: 'length' },
      ),
    );
    expect(output.map(({ status }) => status)).toEqual(['completed', 'incomplete']);
  });

  it.each<[FinishChunk['reason'], object]>([
    ['stop', { status: 'completed', incomplete_details: null, completed_at: 7 }],
    ['tool_calls', { status: 'completed', incomplete_details: null, completed_at: 7 }],
    ['length', { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, completed_at: null }],
    ['content_filter', { status: 'incomplete', incomplete_details: { reason: 'content_filter' }, completed_at: null }],
  ])('ends as it should when the reason is %s', (reason, expected) => {
    expect(responseOf(build(text('a'), { type: 'finish', reason }))).toMatchObject(expected);
  });

  it('fails with the output so far, open items marked', () => {
    const events = builder();
    events.build([
      { type: 'reasoning', delta: 'hm' },
      text('He'),
      { type: 'tool_call', callId: 'c', name: 'f' },
      { type: 'tool_call_arguments', callId: 'c', delta: '{"a"' },
    ]);
    const last = events.fail(new GatewayError('rate_limited', 'Slow down.')) as OtherEvent[];
    expect(types(last)).toEqual(['error', 'failed']);
    expect(last[0]).toMatchObject({ code: 'rate_limit_exceeded', message: 'Slow down.', param: null });
    expect(responseOf(last)).toMatchObject({
      status: 'failed',
      error: { code: 'rate_limit_exceeded', message: 'Slow down.' },
      error_type: 'rate_limit_exceeded',
      completed_at: null,
      output: [
        { type: 'reasoning', status: 'completed' },
        { type: 'message', status: 'completed' },
        { type: 'function_call', status: 'incomplete', arguments: '{"a"' },
      ],
    });
  });

  it('fails before any output as a whole stream', () => {
    expect(types(builder().fail(new GatewayError('internal', 'No.')) as OtherEvent[])).toEqual([
      'created',
      'in_progress',
      'error',
      'failed',
    ]);
  });

  it('emits for a whole item all events that deltas would have caused', () => {
    const content = [{ type: 'output_text', text: 'Hi', annotations: [{ type: 'file_path', file_id: 'f', index: 0 }] }];
    const item = { id: 'msg_9', type: 'message', role: 'assistant', status: 'completed', content } as OutputItem;
    const events = build({ type: 'item_done', key: 0, item }, stop);
    expect(types(events).slice(2, -1)).toEqual([
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.annotation.added',
      'output_text.done',
      'content_part.done',
      'output_item.done',
    ]);
    const shown = { ...item, model: 'acme/one' };
    expect(events[2]!['item']).toEqual({ ...shown, status: 'in_progress', content: [] });
    expect(responseOf(events).output).toEqual([{ ...shown, content: [{ ...content[0], logprobs: [] }] }]);
  });

  it('blames the provider for arguments of a call that never began', () => {
    expect(() => build({ type: 'tool_call_arguments', callId: 'x', delta: '{}' })).toThrow(
      expect.objectContaining({ kind: 'upstream_failed' }),
    );
  });
});
