import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OutputItem } from '../../src/domain/items.ts';
import { json } from '../../src/testing/scripted-responses.ts';
import { around, field, order, streamed, text, whole } from './event-order.ts';
import { type Lab, openLab, responseObject, stream } from './lab.ts';
import { expectFailure, textOf } from './outcome.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
});
afterAll(() => lab.close());

describe('openai-responses', () => {
  const wire = 'openai-responses' as const;
  const item = (type: string, fields: object) => ({ id: `${type}_1`, type, ...fields });
  const added = (output_index: number, each: object) => ({
    type: 'response.output_item.added',
    output_index,
    item: each,
  });
  const done = (output_index: number, each: object) => ({
    type: 'response.output_item.done',
    output_index,
    item: each,
  });
  const event = (type: string, output_index: number, item_id: string, fields: object = {}) => ({
    type: `response.${type}`,
    output_index,
    item_id,
    ...fields,
  });
  const answered = (...inside: object[]): object[] => [
    { type: 'response.created', response: responseObject('in_progress', []) },
    ...inside,
    { type: 'response.completed', response: responseObject('completed', []) },
  ];

  it('streams summaries of reasoning part by part', async () => {
    const place = (summary_index: number) => ({ summary_index });
    const parts = [0, 1].flatMap((index) => [
      event('reasoning_summary_part.added', 0, 'reasoning_1', {
        ...place(index),
        part: { type: 'summary_text', text: '' },
      }),
      event('reasoning_summary_text.delta', 0, 'reasoning_1', { ...place(index), delta: `Part ${index}` }),
      event('reasoning_summary_text.done', 0, 'reasoning_1', { ...place(index), text: `Part ${index}` }),
      event('reasoning_summary_part.done', 0, 'reasoning_1', {
        ...place(index),
        part: { type: 'summary_text', text: `Part ${index}` },
      }),
    ]);
    const summary = ['Part 0', 'Part 1'].map((each) => ({ type: 'summary_text', text: each }));
    const outcome = await streamed(
      lab,
      wire,
      answered(
        added(0, item('reasoning', { summary: [] })),
        ...parts,
        done(0, item('reasoning', { summary, encrypted_content: 'sealed' })),
      ),
    );
    const part = [
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
    ];
    expect(order(outcome)).toEqual(whole(around(0, ...part, ...part)));
    expect(outcome.response?.output[0]).toMatchObject({ summary, encrypted_content: 'sealed' });
  });

  it('lets items overlap: reasoning that is encrypted after the message', async () => {
    const message = { type: 'message', role: 'assistant', content: [] as object[] };
    const content = [{ type: 'output_text', text: 'Hi', annotations: [] }];
    const outcome = await streamed(
      lab,
      wire,
      answered(
        added(0, item('reasoning', { summary: [] })),
        added(1, item('message', { ...message, status: 'in_progress' })),
        event('output_text.delta', 1, 'message_1', { content_index: 0, delta: 'Hi' }),
        done(1, item('message', { ...message, status: 'completed', content })),
        done(0, item('reasoning', { summary: [], encrypted_content: 'late' })),
      ),
    );
    expect(order(outcome)).toEqual(whole(['0 output_item.added'], around(1, ...text('Hi')), ['0 output_item.done']));
    expect(textOf(outcome.response)).toBe('Hi');
  });

  it('renumbers items if the provider leaves gaps', async () => {
    const outcome = await streamed(
      lab,
      wire,
      answered(
        added(4, item('function_call', { call_id: 'c', name: 'f', arguments: '', status: 'in_progress' })),
        event('function_call_arguments.delta', 4, 'function_call_1', { delta: '{}' }),
        done(4, item('function_call', { call_id: 'c', name: 'f', arguments: '{}', status: 'completed' })),
      ),
    );
    expect(order(outcome)[2]).toBe('0 output_item.added');
  });

  it('passes the progress of hosted tools on', async () => {
    const search = (status: string) => item('web_search_call', { status, action: { type: 'search', query: 'q' } });
    const steps = ['in_progress', 'searching', 'completed'].map((step) => `web_search_call.${step}`);
    const outcome = await streamed(
      lab,
      wire,
      answered(
        added(0, search('in_progress')),
        ...steps.map((step) => event(step, 0, 'web_search_call_1')),
        done(0, search('completed')),
      ),
    );
    expect(order(outcome)).toEqual(whole(around(0, ...steps)));
  });

  it('adds the progress of a hosted tool without its own events', async () => {
    const interpreter = { container_id: 'c', code: '1+1', outputs: [], status: 'completed' };
    const outcome = await streamed(lab, wire, answered(done(0, item('code_interpreter_call', interpreter))));
    const code = 'code_interpreter_call';
    expect(order(outcome)).toEqual(
      whole(
        around(
          0,
          `${code}.in_progress`,
          `${code}_code.delta`,
          `${code}_code.done`,
          `${code}.interpreting`,
          `${code}.completed`,
        ),
      ),
    );
  });

  it('relays events it does not know under its own numbers, and turns keepalive into nothing', async () => {
    const outcome = await streamed(
      lab,
      wire,
      answered(
        added(0, item('message', { role: 'assistant', status: 'in_progress', content: [] })),
        { type: 'response.unheard_of', sequence_number: 99, output_index: 0, item_id: 'message_1', mood: 'good' },
        { type: 'keepalive', sequence_number: 100 },
        { type: 'response.rumour', sequence_number: 101, text: 'psst' },
        done(0, item('message', { role: 'assistant', status: 'completed', content: [] })),
      ),
    );
    expect(outcome.events[3]).toMatchObject({ type: 'response.unheard_of', sequence_number: 3, mood: 'good' });
    expect(outcome.events[4]).toEqual({ type: 'response.rumour', sequence_number: 4, text: 'psst' });
  });

  it('drops a field `error`, which clients treat as the end of the stream, and reports it', async () => {
    const rumour = { type: 'response.rumour', text: 'psst', error: { message: 'boo' } };
    lab.upstream.respond(stream(wire, answered(rumour)));
    const outcome = await lab.ask({ wire, mode: 'streamed' }, { headers: { 'x-router-metadata': 'enabled' } });
    expect(outcome.events[2]).toEqual({ type: 'response.rumour', sequence_number: 2, text: 'psst' });
    expect(outcome.response?.router_metadata?.params).toMatchObject({
      dropped_upstream_fields: ['response.rumour.error'],
    });
  });

  describe('a stream that contradicts itself', () => {
    const message = (...texts: string[]) =>
      item('message', {
        role: 'assistant',
        status: texts.length > 0 ? 'completed' : 'in_progress',
        content: texts.map((each) => ({ type: 'output_text', text: each, annotations: [] })),
      });
    const place = { content_index: 0 };
    const delta = event('output_text.delta', 0, 'message_1', { ...place, delta: 'One' });
    const textDone = (whole: string) => event('output_text.done', 0, 'message_1', { ...place, text: whole });
    const partDone = (whole: string, content_index = 0) =>
      event('content_part.done', 0, 'message_1', {
        content_index,
        part: { type: 'output_text', text: whole, annotations: [] },
      });
    const call = (args: string) =>
      item('function_call', { call_id: 'c', name: 'f', arguments: args, status: 'completed' });
    const textsOf = (output: OutputItem | undefined) =>
      (output?.['content'] as { text: string }[]).map((part) => part.text);

    it.each<[string, object[], string[]]>([
      ['output_text.done has more', [delta, textDone('One two'), done(0, message('One two'))], ['One two']],
      ['output_text.done has more than the item', [delta, textDone('One two'), done(0, message('One'))], ['One two']],
      ['content_part.done has more', [delta, partDone('One two'), done(0, message('One'))], ['One two']],
      [
        'each event has more',
        [delta, textDone('One t'), partDone('One two'), done(0, message('One two.'))],
        ['One two.'],
      ],
      ['no delta came', [textDone('One'), partDone('One'), done(0, message('One'))], ['One']],
      ['no delta and no item came', [textDone('One')], ['One']],
      [
        'a second part has no delta',
        [delta, partDone('One'), partDone('Two', 1), done(0, message('One', 'Two'))],
        ['One', 'Two'],
      ],
      ['a closed part has more', [delta, partDone('Two', 1), done(0, message('One and', 'Two'))], ['One', 'Two']],
      ['output_text.done has another text', [delta, textDone('Other'), done(0, message('One'))], ['One']],
      ['the item has another text', [delta, done(0, message('Other'))], ['One']],
      ['the item has less', [delta, done(0, message('O'))], ['One']],
      ['the item has no parts', [delta, done(0, { ...message('One'), content: [] })], ['One']],
    ])('has one text in all events: %s', async (_what, inside, texts) => {
      const outcome = await streamed(lab, wire, answered(added(0, message()), ...inside));
      expect(textsOf(outcome.response?.output[0])).toEqual(texts);
    });

    it('keeps the arguments that the client has', async () => {
      const begun = { ...call(''), status: 'in_progress' };
      const inside = [
        event('function_call_arguments.delta', 0, 'function_call_1', { delta: '{"a":1}' }),
        done(0, call('{}')),
      ];
      const outcome = await streamed(lab, wire, answered(added(0, begun), ...inside));
      expect(outcome.response?.output[0]).toMatchObject({ arguments: '{"a":1}' });
    });

    it.each<[string, object[], object]>([
      ['a message and deltas', [added(0, message('Other')), delta], { content: [{ text: 'One' }] }],
      ['a message and no delta', [added(0, message('One'))], { content: [{ text: 'One' }] }],
      [
        'a call and deltas',
        [added(0, call('{}')), event('function_call_arguments.delta', 0, 'function_call_1', { delta: '{}' })],
        { arguments: '{}' },
      ],
      ['a call and no delta', [added(0, call('{}'))], { arguments: '{}' }],
    ])('begins each item without text, even if the provider announces all of it: %s', async (_what, inside, final) => {
      const outcome = await streamed(lab, wire, answered(...inside));
      const [begun] = field(outcome.events, 'output_item.added', 'item') as OutputItem[];
      expect(begun).toMatchObject(begun!.type === 'message' ? { content: [] } : { arguments: '' });
      expect(outcome.response?.output).toMatchObject([final]);
    });

    it('keeps an item of which the client has another type', async () => {
      const outcome = await streamed(
        lab,
        wire,
        answered(added(0, message()), delta, done(0, { ...call('{}'), id: 'message_1' })),
      );
      expect(outcome.response?.output).toMatchObject([{ type: 'message', content: [{ text: 'One' }] }]);
    });

    it('ends a part once if the finished item has a part of another kind there', async () => {
      const odd = { ...message(), status: 'completed', content: [{ type: 'odd' }] };
      const outcome = await streamed(lab, wire, answered(added(0, message()), delta, done(0, odd)));
      expect(field(outcome.events, 'content_part.done', 'part')).toMatchObject([{ type: 'output_text', text: 'One' }]);
      expect(outcome.response?.output).toMatchObject([{ content: [{ type: 'output_text', text: 'One' }] }]);
    });

    it('relays no progress of an item that clients do not have, and names it', async () => {
      const search = item('web_search_call', { status: 'completed', action: { type: 'search', query: 'q' } });
      const early = event('web_search_call.searching', 0, 'web_search_call_1');
      lab.upstream.respond(stream(wire, answered(early, done(0, search), early)));
      const outcome = await lab.ask({ wire, mode: 'streamed' }, { headers: { 'x-router-metadata': 'enabled' } });
      expect(order(outcome).filter((each) => each.includes('searching'))).toEqual(['0 web_search_call.searching']);
      expect(outcome.response?.router_metadata?.params).toMatchObject({
        dropped_upstream_fields: ['response.web_search_call.searching'],
      });
    });

    it('has one refusal and one summary in all events', async () => {
      const refusal = event('refusal.done', 0, 'message_1', { ...place, refusal: 'No.' });
      const summary = event('reasoning_summary_text.done', 1, 'reasoning_1', { summary_index: 0, text: 'Because.' });
      const sealed = item('reasoning', { summary: [], encrypted_content: 'sealed' });
      const outcome = await streamed(
        lab,
        wire,
        answered(added(0, message()), refusal, added(1, item('reasoning', { summary: [] })), summary, done(1, sealed)),
      );
      expect(outcome.response?.output).toMatchObject([
        { content: [{ type: 'refusal', refusal: 'No.' }] },
        { summary: [{ type: 'summary_text', text: 'Because.' }], encrypted_content: 'sealed' },
      ]);
    });
  });

  describe('items that share an id', () => {
    const message = (text?: string) => ({
      id: 'same',
      type: 'message',
      role: 'assistant',
      status: text === undefined ? 'in_progress' : 'completed',
      content: text === undefined ? [] : [{ type: 'output_text', text, annotations: [] }],
    });
    const delta = (index: number, text: string) =>
      event('output_text.delta', index, 'same', { content_index: 0, delta: text });
    const wordsOf = ({ content }: OutputItem) => (content as { text: string }[])[0]?.text;
    const ended = [message('one'), message('two')];
    const end = { type: 'response.completed', response: responseObject('completed', ended) };
    const [begin] = answered();

    it.each<[string, object[]]>([
      [
        'one after the other',
        [
          added(0, message()),
          delta(0, 'one'),
          done(0, ended[0]!),
          added(1, message()),
          delta(1, 'two'),
          done(1, ended[1]!),
        ],
      ],
      [
        'at once',
        [
          added(0, message()),
          added(1, message()),
          delta(0, 'one'),
          delta(1, 'two'),
          done(0, ended[0]!),
          done(1, ended[1]!),
        ],
      ],
      ['whole, one by one', [done(0, ended[0]!), done(1, ended[1]!)]],
      ['in the last event alone', []],
    ])('are all sent, with separate ids: %s', async (_name, frames) => {
      const outcome = await streamed(lab, wire, [begin!, ...frames, end]);
      expect(outcome.response?.output.map(wordsOf)).toEqual(['one', 'two']);
      expect(new Set(outcome.response?.output.map(({ id }) => id)).size).toBe(2);
    });

    it('are all in a buffered response', async () => {
      lab.upstream.respond(json(responseObject('completed', ended)));
      const { response } = await lab.ask({ wire, mode: 'buffered' });
      expect(response?.output.map(wordsOf)).toEqual(['one', 'two']);
      expect(new Set(response?.output.map(({ id }) => id)).size).toBe(2);
    });
  });

  it('sends the arguments of a call as text, with an id for its output', async () => {
    lab.upstream.respond(
      json(responseObject('completed', [item('function_call', { name: 'f', arguments: { city: 'Bern' } })])),
    );
    const { response } = await lab.ask({ wire, mode: 'buffered' });
    expect(response?.output).toMatchObject([{ call_id: 'function_call_1', arguments: '{"city":"Bern"}' }]);
  });

  it.each([
    ['null', null, []],
    ['a text', 'Hello', [{ type: 'output_text', text: 'Hello' }]],
  ])('gives a message its list of parts if the provider sends %s', async (_what, content, parts) => {
    const output = [item('message', { status: 'completed', content }), item('reasoning', { summary: null })];
    for (const mode of ['buffered', 'streamed'] as const) {
      const body = responseObject('completed', output);
      lab.upstream.respond(
        mode === 'buffered' ? json(body) : stream(wire, [{ type: 'response.completed', response: body }]),
      );
      const { response } = await lab.ask({ wire, mode });
      expect(response?.output).toMatchObject([{ role: 'assistant', content: parts }, { summary: [] }]);
    }
  });

  it('fails if the provider sends an error that is a text', async () => {
    for (const mode of ['buffered', 'streamed'] as const) {
      lab.upstream.respond(stream(wire, [...answered().slice(0, 1), { error: 'No capacity.' }]));
      expectFailure(await lab.ask({ wire, mode }), 502, 'provider_unavailable', /No capacity/);
    }
  });

  it('shows no reported setting that is not of its type', async () => {
    const odd = { temperature: 'hot', top_p: 0.5, top_logprobs: 2.5, truncation: 5, service_tier: '' };
    lab.upstream.respond(json({ ...responseObject('completed', []), ...odd }));
    const { response } = await lab.ask({ wire, mode: 'buffered' });
    const shown = { temperature: 1, top_p: 0.5, top_logprobs: 0, truncation: 'disabled', service_tier: 'default' };
    expect(response).toMatchObject(shown);
  });

  it('never ends with an item that is in progress', async () => {
    const message = item('message', { role: 'assistant', status: 'in_progress', content: [] });
    const outcome = await streamed(lab, wire, answered(added(0, message), done(0, message)));
    expect(outcome.response?.output).toMatchObject([{ status: 'completed' }]);
  });
});
