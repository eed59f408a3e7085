import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { analysis } from '../tools/fusion-script.ts';
import { call, openToolLab, type ToolLab } from '../tools/lab.ts';
import { openaiClient } from './openai-client.ts';

/* The events that only this gateway has, with the helpers of the `openai` client. One model of the panel fails. */

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
});
afterAll(() => lab.close());

const standard = { headers: { 'X-Router-Events': 'standard' } };
const panel = ['acme/openai-chat', 'acme/gemini'];
const request = {
  model: 'acme/anthropic-messages',
  input: 'Outer question',
  tools: [{ type: 'router:fusion', parameters: { analysis_models: panel, model: panel[0], tools: [] } }] as never, // not in its types
};

function play(): void {
  lab.answer(({ text }, wire) => {
    if (text.includes('You compare')) return { text: JSON.stringify(analysis) };
    if (text.includes('Outer question')) {
      return text.includes('blind_spots')
        ? { text: 'Done.' }
        : { calls: [call('router_fusion', { prompt: 'Inner.' })] };
    }
    return wire === 'gemini' ? { fail: { status: 503, message: 'Busy.' } } : { text: 'Blue.' };
  });
}

describe('with X-Router-Events: standard', () => {
  it('the stream helper returns a response with a panel', async () => {
    play();
    const stream = openaiClient(lab).responses.stream(request, standard);
    const types = new Set<string>();
    stream.on('event', ({ type }) => void types.add(type));
    const response = await stream.finalResponse();

    expect(response.output_text).toBe('Done.');
    expect(response.output[0]).toMatchObject({ type: 'router:fusion', failed_models: [{ model: 'acme/gemini' }] });
    expect([...types].filter((type) => type.includes('fusion'))).toEqual([]);
    expect(types).toContain('response.output_item.done');
  });

  it('a plain stream ends with the response', async () => {
    play();
    const events = await openaiClient(lab).responses.create({ ...request, stream: true }, standard);
    let last: string | undefined;
    for await (const { type } of events) last = type;
    expect(last).toBe('response.completed');
  });
});

it('without the header, the client throws at the event of the model that failed', async () => {
  play();
  const events = await openaiClient(lab).responses.create({ ...request, stream: true });
  const read = async () => {
    for await (const _ of events);
  };
  await expect(read()).rejects.toThrow();
});
