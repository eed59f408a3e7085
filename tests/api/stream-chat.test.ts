import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { around, field, order, streamed, text, whole } from './event-order.ts';
import { chatChunk, type Lab, openLab, stream, wholeBody } from './lab.ts';
import { expectFailure } from './outcome.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
});
afterAll(() => lab.close());

const call = (index: number, more: object) => chatChunk({ tool_calls: [{ index, ...more }] });
const begin = (index: number, name: string, args = '') =>
  call(index, { id: `call_${index}`, type: 'function', function: { name, arguments: args } });
const more = (index: number, args: string) => call(index, { function: { arguments: args } });

describe('openai-chat', () => {
  const wire = 'openai-chat' as const;
  const stop = (reason = 'stop') => chatChunk({}, reason);

  it.each([
    'buffered',
    'streamed',
  ] as const)('ends a %s response by length if the provider reports it as an error', async (mode) => {
    const error = { error: { message: 'Too long.', code: 'context_length_exceeded' } };
    const begun = chatChunk({ role: 'assistant', content: '' });
    lab.upstream.respond(stream(wire, [begun, chatChunk({ content: 'Fou' }), error]));
    const { response } = await lab.ask({ wire, mode });
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    expect(response?.output).toMatchObject([{ status: 'incomplete', content: [{ text: 'Fou' }] }]);

    lab.upstream.respond(stream(wire, [begun, error])); // without output it is a failure
    expectFailure(await lab.ask({ wire, mode }), 400, 'context_length_exceeded', /Too long/);
  });

  it('leaves out fields of reasoning_details that are not texts, and names them', async () => {
    const details = ['text', 'summary', 'encrypted'].map((kind) => ({
      type: `reasoning.${kind}`,
      text: {},
      summary: { a: 1 },
      data: [1],
      signature: 5,
      id: {},
      format: {},
    }));
    for (const mode of ['buffered', 'streamed'] as const) {
      lab.upstream.respond(
        stream(wire, [chatChunk({ reasoning_details: details }), chatChunk({ content: 'Four.' }), stop()]),
      );
      const { response } = await lab.ask({ wire, mode }, { headers: { 'x-router-metadata': 'enabled' } });
      expect(response?.output).toMatchObject([{ type: 'message', content: [{ text: 'Four.' }] }]);
      expect(response?.router_metadata?.params).toMatchObject({
        dropped_upstream_fields: ['text', 'signature', 'summary', 'data'].map(
          (name) => `message.reasoning_details[].${name}`,
        ),
      });
    }
  });

  it('streams reasoning, then text: the reasoning is closed before', async () => {
    const outcome = await streamed(lab, wire, [
      chatChunk({ reasoning_content: 'Let me ' }),
      chatChunk({ reasoning_content: 'think.' }),
      chatChunk({ content: 'Four.' }),
      stop(),
    ]);
    const thought = ['reasoning_text.delta', 'reasoning_text.delta', 'reasoning_text.done'];
    expect(order(outcome)).toEqual(
      whole(around(0, 'content_part.added', ...thought, 'content_part.done'), around(1, ...text('Four.'))),
    );
    expect(outcome.response?.output[0]).toMatchObject({
      type: 'reasoning',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'Let me think.' }],
    });
  });

  it('streams a refusal as a separate part', async () => {
    const outcome = await streamed(lab, wire, [
      chatChunk({ refusal: 'I will ' }),
      chatChunk({ refusal: 'not.' }),
      stop(),
    ]);
    const refused = ['refusal.delta', 'refusal.delta', 'refusal.done'];
    expect(order(outcome)).toEqual(whole(around(0, 'content_part.added', ...refused, 'content_part.done')));
    expect(outcome.response?.output[0]).toMatchObject({ content: [{ type: 'refusal', refusal: 'I will not.' }] });
  });

  it('streams a function call, with its name in the last event of its arguments', async () => {
    const outcome = await streamed(lab, wire, [
      begin(0, 'weather'),
      more(0, '{"city":'),
      more(0, '"Bern"}'),
      stop('tool_calls'),
    ]);
    const args = 'function_call_arguments';
    expect(order(outcome)).toEqual(whole(around(0, `${args}.delta`, `${args}.delta`, `${args}.done`)));
    expect(outcome.events.at(-3)).toMatchObject({ name: 'weather', arguments: '{"city":"Bern"}' });
    expect(field(outcome.events, 'output_item.added', 'item')).toEqual([
      expect.objectContaining({ type: 'function_call', status: 'in_progress', arguments: '', call_id: 'call_0' }),
    ]);
    expect(outcome.response).toMatchObject({
      status: 'completed',
      output: [{ call_id: 'call_0', status: 'completed' }],
    });
  });

  it('keeps parallel calls apart whose pieces are interleaved', async () => {
    const outcome = await streamed(lab, wire, [
      begin(0, 'one'),
      begin(1, 'two'),
      more(0, '{"a"'),
      more(1, '{"b"'),
      more(0, ':1}'),
      more(1, ':2}'),
      stop('tool_calls'),
    ]);
    const delta = 'function_call_arguments.delta';
    expect(order(outcome).slice(2, 8)).toEqual([
      '0 output_item.added',
      '1 output_item.added',
      `0 ${delta}`,
      `1 ${delta}`,
      `0 ${delta}`,
      `1 ${delta}`,
    ]);
    expect(outcome.response?.output).toMatchObject([
      { name: 'one', arguments: '{"a":1}' },
      { name: 'two', arguments: '{"b":2}' },
    ]);
  });

  it('keeps calls apart that share an id', async () => {
    const same = (index: number) =>
      call(index, { id: 'call', type: 'function', function: { name: 'look', arguments: '' } });
    const outcome = await streamed(lab, wire, [
      same(0),
      same(1),
      more(0, '{"at":"a"}'),
      more(1, '{"at":"b"}'),
      stop('tool_calls'),
    ]);
    const output = outcome.response?.output ?? [];
    expect(output).toMatchObject([{ call_id: 'call', arguments: '{"at":"a"}' }, { arguments: '{"at":"b"}' }]);
    expect(output[1]?.call_id).toMatch(/^call_/);
  });

  it.each([
    ['an id', { id: 'call' }],
    ['an index', { id: 'call', index: 0 }],
    ['nothing', {}],
  ])('keeps the calls of a whole message apart that share %s', async (_what, fields) => {
    const made = (args: string) => ({ ...fields, type: 'function', function: { name: 'look', arguments: args } });
    const choice = {
      index: 0,
      message: { tool_calls: [made('{"at":"a"}'), made('{"at":"b"}')] },
      finish_reason: 'stop',
    };
    lab.upstream.respond(json({ ...wholeBody(wire), choices: [choice] }));
    const { response } = await lab.ask({ wire, mode: 'buffered' });
    expect(response?.output).toMatchObject([{ arguments: '{"at":"a"}' }, { arguments: '{"at":"b"}' }]);
    expect(new Set(response?.output.map((item) => item.call_id)).size).toBe(2);
  });

  it('accepts a number as the id of a call', async () => {
    const numbered = call(0, { id: 7, function: { name: 'look', arguments: '{}' } });
    const outcome = await streamed(lab, wire, [numbered, stop('tool_calls')]);
    expect(outcome.response?.output).toMatchObject([{ call_id: '7' }]);
  });

  it('closes the text before a call, and opens a new one after it', async () => {
    const outcome = await streamed(lab, wire, [
      chatChunk({ content: 'Look: ' }),
      begin(0, 'look', '{}'),
      stop('tool_calls'),
    ]);
    const args = 'function_call_arguments';
    expect(order(outcome)).toEqual(whole(around(0, ...text('Look: ')), around(1, `${args}.delta`, `${args}.done`)));
  });

  it('streams a custom tool call as free text', async () => {
    const args = JSON.stringify({ input: 'print(1)\n"2"' });
    const outcome = await streamed(
      lab,
      wire,
      [begin(0, 'run_python'), ...[...args].map((letter) => more(0, letter)), stop('tool_calls')],
      { tools: [{ type: 'custom', name: 'run_python' }] },
    );
    expect(outcome.response?.output).toMatchObject([
      { type: 'custom_tool_call', name: 'run_python', input: 'print(1)\n"2"', call_id: 'call_0' },
    ]);
    expect(field(outcome.events, 'custom_tool_call_input.delta', 'delta').join('')).toBe('print(1)\n"2"');
    expect(field(outcome.events, 'custom_tool_call_input.done', 'input')).toEqual(['print(1)\n"2"']);
  });

  it('sends annotations before the last event of their text', async () => {
    const annotation = {
      type: 'url_citation',
      url_citation: { url: 'https://a.example/', title: 'A', start_index: 0, end_index: 2 },
    };
    const outcome = await streamed(lab, wire, [
      chatChunk({ content: 'Hi' }),
      chatChunk({ annotations: [annotation] }),
      chatChunk({ annotations: [annotation] }), // some servers repeat it: openai/openai-agents-js#1617
      stop(),
    ]);
    const names = order(outcome);
    expect(names.indexOf('0 output_text.annotation.added')).toBeLessThan(names.indexOf('0 output_text.done'));
    expect(field(outcome.events, 'output_text.annotation.added', 'annotation')).toEqual([
      { type: 'url_citation', url: 'https://a.example/', title: 'A', start_index: 0, end_index: 2 },
    ]);
  });

  it.each([
    ['length', 'max_output_tokens', 'incomplete'],
    ['content_filter', 'content_filter', 'completed'],
  ])('ends with response.incomplete if it is truncated by %s', async (reason, told, itemStatus) => {
    const outcome = await streamed(lab, wire, [chatChunk({ content: 'Hal' }), stop(reason)]);
    expect(order(outcome).at(-1)).toBe('incomplete');
    expect(outcome.response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: told },
      output: [{ status: itemStatus }],
    });
  });

  it('blames the provider for arguments of a call that never began', async () => {
    lab.upstream.always(stream(wire, [chatChunk({ content: 'Hi' }), more(3, '{}'), stop()]));
    const { status, response } = await lab.ask({ wire, mode: 'streamed' });
    expect(status).toBe(200);
    expect(response?.error_type).not.toBe('server');
  });
});
