import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OtherEvent } from '../../src/domain/events.ts';
import { around, order, text, whole } from './event-order.ts';
import { answer, complaint, type Lab, openFrames, openLab, stream, wires } from './lab.ts';
import { expectBroken, expectText } from './outcome.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
});
afterAll(() => lab.close());

describe.each(wires)('%s', (wire) => {
  it('streams text in the order of the reference', async () => {
    lab.upstream.always(answer({ wire, mode: 'streamed' }));
    const outcome = await lab.ask({ wire, mode: 'streamed' });
    expectText(outcome, 'Hello there.');
    expect(order(outcome)).toEqual(whole(around(0, ...text('Hello there.'))));
    expect(outcome.headers.get('content-type')).toBe('text/event-stream');
    expect(outcome.text).toMatch(/^(data: .*\n\n)+$/);
  });

  it('begins with the settings of the request and without output', async () => {
    lab.upstream.always(answer({ wire, mode: 'streamed' }));
    const { events } = await lab.ask(
      { wire, mode: 'streamed' },
      { body: { temperature: 0.5, metadata: { a: 'b' }, instructions: 'Be brief.' } },
    );
    for (const event of events.slice(0, 2) as OtherEvent[]) {
      expect(event['response']).toMatchObject({
        status: 'in_progress',
        output: [],
        error: null,
        incomplete_details: null,
        completed_at: null,
        usage: null,
        temperature: 0.5,
        metadata: { a: 'b' },
        instructions: 'Be brief.',
        model: `${wire}/patient`,
      });
    }
  });

  it('has one id for the response and one for each item', async () => {
    lab.upstream.always(answer({ wire, mode: 'streamed' }));
    const { events, response } = await lab.ask({ wire, mode: 'streamed' });
    const ids = (events as OtherEvent[]).flatMap(
      ({ response: each }) => (each as { id: string } | undefined)?.id ?? [],
    );
    expect(new Set(ids)).toEqual(new Set([response!.id]));
    const itemIds = new Set((events as OtherEvent[]).flatMap((event) => (event['item_id'] as string) ?? []));
    expect([...itemIds]).toEqual([response!.output[0]!.id]);
  });

  it('echoes the upstream body first, once per attempt, on request', async () => {
    lab.upstream.always(answer({ wire, mode: 'streamed' }));
    const outcome = await lab.ask(
      { wire, mode: 'streamed' },
      { body: { debug: { echo_upstream_body: true }, input: 'x'.repeat(5000) } },
    );
    expect(order(outcome).slice(0, 4)).toEqual(['debug', 'created', 'in_progress', '0 output_item.added']);
    const debug = (outcome.events[0] as OtherEvent)['debug'] as { echo_upstream_body: object };
    expect(debug.echo_upstream_body).toMatchObject({ model: 'm', stream: true });
    const shown = JSON.stringify(debug);
    expect(shown).toContain('(5000 characters in all)');
    expect(shown).not.toContain('x'.repeat(2001));
    expect(shown).not.toContain('sk-upstream');
  });

  it('echoes nothing in a buffered response', async () => {
    lab.upstream.always(answer({ wire, mode: 'buffered' }));
    const { response } = await lab.ask({ wire, mode: 'buffered' }, { body: { debug: { echo_upstream_body: true } } });
    expect(response).not.toHaveProperty('debug');
  });

  it('sends deltas with every character, escaped as JSON', async () => {
    const odd = 'a"b\\c\n\u2028\u0000\u001f</script>\ud83d\ude00 data: [DONE]\n\n';
    lab.upstream.always(answer({ wire, mode: 'streamed' }, odd));
    expectText(await lab.ask({ wire, mode: 'streamed' }), odd);
  });

  it('marks the open items if the stream is interrupted, and continues the numbers', async () => {
    lab.upstream.always(stream(wire, [...openFrames(wire, ['Hel', 'lo']), complaint('Gone.', { code: 500 })]));
    const outcome = await lab.ask({ wire, mode: 'streamed' });
    expectBroken(outcome, 'provider_unavailable', 'Hello');
    expect(order(outcome)).toEqual([
      'created',
      'in_progress',
      '0 output_item.added',
      '0 content_part.added',
      '0 output_text.delta',
      '0 output_text.delta',
      'error',
      'failed',
    ]);
  });
});
