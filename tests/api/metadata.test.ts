import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import {
  answer,
  type Case,
  cases,
  chatChunk,
  complaint,
  type Lab,
  openFrames,
  openLab,
  responseObject,
  stream,
} from './lab.ts';
import type { Outcome } from './outcome.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await openLab({ server: { region: 'moon' } });
});
afterAll(() => lab.close());

const enabled = { 'x-router-metadata': 'enabled' };
const metadataOf = ({ response, envelope }: Outcome): unknown => response?.router_metadata ?? envelope?.router_metadata;

/** Headers, and whether the response has metadata. */
const asking: [Record<string, string>, boolean][] = [
  [{}, false],
  [{ 'x-router-metadata': 'enabled' }, true],
  [{ 'X-Router-Metadata': 'ENABLED' }, true],
  [{ 'x-router-metadata': 'Enabled' }, true],
  [{ 'x-router-metadata': 'disabled' }, false],
  [{ 'x-router-metadata': 'true' }, false],
  [{ 'x-router-metadata': '' }, false],
  [{ 'x-router-experimental-metadata': 'enabled' }, true],
  [{ 'X-Router-Experimental-Metadata': 'eNaBlEd' }, true],
  [{ 'x-router-experimental-metadata': 'yes' }, false],
  [{ 'x-router-metadata': 'enabled', 'x-router-experimental-metadata': 'disabled' }, true],
  [{ 'x-router-metadata': 'disabled', 'x-router-experimental-metadata': 'enabled' }, false],
  [{ 'x-router-metadata': 'maybe', 'x-router-experimental-metadata': 'enabled' }, true],
];

describe.each(cases)('$wire, $mode', (how) => {
  const { wire, mode } = how;

  it.each(asking)('%j: %s', async (headers, expected) => {
    lab.upstream.always(answer(how));
    const outcome = await lab.ask(how, { headers });
    expect(metadataOf(outcome) !== undefined).toBe(expected);
    expect(outcome.text.includes('router_metadata')).toBe(expected);
  });

  it('names the provider', async () => {
    lab.upstream.always(answer(how));
    const outcome = await lab.ask(how, { headers: enabled });
    expect(metadataOf(outcome)).toEqual({
      requested: `${wire}/patient`,
      strategy: 'direct',
      region: 'moon',
      summary: `available=1, selected=${wire}-patient`,
      attempt: 1,
      is_byok: false,
      endpoints: { total: 1, available: [{ provider: `${wire}-patient`, model: `${wire}/patient`, selected: true }] },
      attempts: [{ provider: `${wire}-patient`, model: `${wire}/patient`, status: 200 }],
      params: expect.objectContaining({ upstream_model: 'm' }),
      generation_time: expect.any(Number),
    });
  });

  it('is in the last event of a stream and in no other', async () => {
    if (mode === 'buffered') return;
    lab.upstream.always(answer(how));
    const { events } = await lab.ask(how, { headers: enabled });
    const withIt = events.filter((event) => JSON.stringify(event).includes('router_metadata'));
    expect(withIt).toEqual([events.at(-1)]);
  });

  it('is in a truncated response', async () => {
    lab.upstream.always(cutShort(how));
    const outcome = await lab.ask(how, { headers: enabled });
    expect(outcome.response?.status).toBe('incomplete');
    expect(metadataOf(outcome)).toMatchObject({ attempt: 1, attempts: [{ status: 200 }] });
  });

  it('is in a failure, without a selected endpoint', async () => {
    lab.upstream.always(json(complaint('No.'), { status: 503 }));
    const before = await lab.ask(how, { headers: enabled });
    lab.upstream.always(stream(wire, openFrames(wire, ['Hi']), { done: false }));
    for (const outcome of [before, await lab.ask(how, { headers: enabled })]) {
      expect(metadataOf(outcome)).toMatchObject({
        attempt: 1,
        summary: 'available=1',
        endpoints: { available: [{ selected: false }] },
        attempts: [{ status: expect.toBeOneOf([529, 502]) }],
      });
    }
  });

  it('names the fields that were not sent', async () => {
    lab.upstream.always(answer(how));
    const body = { sparkle: 1, glitter: { a: 1 }, max_tool_calls: 99, min_p: 0.1 };
    const outcome = await lab.ask(how, { headers: enabled, body });
    expect(metadataOf(outcome)).toMatchObject({
      params: {
        ignored_fields: expect.arrayContaining(['sparkle', 'glitter']),
        clamped: [expect.stringContaining('max_tool_calls')],
      },
    });
    expect(JSON.stringify(lab.upstream.requests.at(-1)?.body)).not.toContain('sparkle');
  });

  it('names unknown fields of plugins, and unknown providers', async () => {
    lab.upstream.always(answer(how));
    const body = {
      plugins: [
        { id: 'response-healing', heal: 'all' },
        { id: 'pareto-router', enabled: false, max_pirce: 1, 'a b': 2 },
      ],
      provider: { order: ['OpenIA', `${wire}-patient`], ignore: ['openia', 'nobody/eu'], only: null },
    };
    const outcome = await lab.ask(how, { headers: enabled, body });
    expect(metadataOf(outcome)).toMatchObject({
      params: {
        ignored_fields: ['plugins[0].heal', 'plugins[1].max_pirce', 'plugins[1]["a b"]'],
        unknown_providers: ['OpenIA', 'openia', 'nobody/eu'],
      },
    });
    const refused = await lab.ask(how, { headers: enabled, body: { provider: { only: ['nobody'] } } });
    expect(refused.status).toBe(404);
    expect(refused.envelope?.router_metadata).toMatchObject({ params: { unknown_providers: ['nobody'] } });
  });

  it('names the fields that the wire cannot represent', async () => {
    lab.upstream.always(answer(how));
    const outcome = await lab.ask(how, { headers: enabled, body: { top_k: 5 } });
    expect(metadataOf(outcome)).toMatchObject({ params: { dropped_fields: ['top_k'] } });
    expect(lab.upstream.requests.at(-1)?.body).not.toHaveProperty('top_k');
  });

  it('is not in responses before routing, or in internal errors', async () => {
    const refused = [
      await lab.ask(how, { headers: enabled, key: 'wrong-key-000000' }),
      await lab.ask(how, { headers: enabled, key: null }),
      await lab.ask(how, { headers: enabled, body: { temperature: 'warm' } }),
      await lab.ask(how, { headers: enabled, model: 'x/unknown' }),
      await lab.ask(how, { headers: enabled, key: lab.gateway.managementKey }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([401, 401, 400, 400, 403]);
    for (const { text } of refused) expect(text).not.toContain('router_metadata');
  });
});

function cutShort({ wire, mode }: Case) {
  if (wire === 'openai-chat') {
    const choice = { index: 0, message: { role: 'assistant', content: 'Hal' }, finish_reason: 'length' };
    if (mode === 'buffered') return json({ object: 'chat.completion', model: 'm', choices: [choice] });
    return stream(wire, [chatChunk({ content: 'Hal' }), chatChunk({}, 'length')]);
  }
  const item = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'incomplete',
    content: [{ type: 'output_text', text: 'Hal', annotations: [] }],
  };
  const response = { ...responseObject('incomplete', [item]), incomplete_details: { reason: 'max_output_tokens' } };
  if (mode === 'buffered') return json(response);
  return stream(wire, [{ type: 'response.incomplete', response }]);
}
