import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { OutputItem } from '../../src/domain/items.ts';
import { call, modes, openToolLab, type Served, type ToolLab, wireNames } from '../tools/lab.ts';

/* The field `model` of output messages, which `pin_model` of the auto router reads. */

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
});
afterAll(() => lab.close());
afterEach(() => void lab.takeRequests());

const messagesOf = ({ body }: Served): OutputItem[] => body.output.filter(({ type }) => type === 'message');
const asked = { role: 'user', content: 'And now?' };
const said = (model?: string) => ({ role: 'assistant', content: 'Hi.', ...(model && { model }) });
const provider = { order: wireNames.flatMap((wire) => [`${wire}-0`, `${wire}-1`]) };
const pinned = { model: 'router/auto', plugins: [{ id: 'auto-router', pin_model: true }], provider };

describe.each(modes)('output messages, %s', (mode) => {
  it.each(wireNames)('name their model on %s, which gets it back without the field', async (wire) => {
    lab.script(wire, { text: 'Hello.' }, { text: 'Again.' });
    const first = await lab.respond(wire, mode);
    const [message] = messagesOf(first);
    expect(message).toMatchObject({ role: 'assistant', status: 'completed', model: `acme/${wire}` });
    const shown = first.events.flatMap((event) => {
      const { item } = event as unknown as { item?: OutputItem };
      return item?.type === 'message' ? [item['model']] : [];
    });
    expect(shown).toEqual(mode === 'streamed' ? [`acme/${wire}`, `acme/${wire}`] : []); // added, done

    lab.takeRequests();
    const again = await lab.respond(wire, mode, { ...pinned, input: [asked, ...first.body.output, asked] });
    expect(again.body).toMatchObject({ status: 'completed', model: `acme/${wire}` });
    expect(again.body.router_metadata?.params).not.toHaveProperty('dropped_fields');
    const [sent] = lab.takeRequests();
    expect(sent!.text).toContain('Hello.');
    expect(sent!.text).not.toContain(`acme/${wire}`);
  });

  it('name the model of their own turn', async () => {
    const failing = { fail: { status: 503, message: 'Busy.' } };
    lab.script('openai-chat', { text: 'The time.', calls: [call('router_datetime')] }, failing);
    lab.scriptOther('openai-chat', failing);
    lab.script('gemini', { text: 'It is late.' });
    const served = await lab.respond('openai-chat', mode, {
      models: ['acme/gemini'],
      provider,
      tools: [{ type: 'router:datetime' }],
    });
    expect(messagesOf(served).map((message) => message['model'])).toEqual(['acme/openai-chat', 'acme/gemini']);
  });

  it('pin the model of the last one', async () => {
    for (const wire of ['gemini', 'openai-chat'] as const) {
      const others = wireNames.filter((name) => name !== wire);
      lab.script(wire, { text: 'ok' });
      const input = [asked, said(`acme/${others[0]}`), asked, said(`acme/${wire}`), asked];
      const served = await lab.respond(wire, mode, { ...pinned, input });
      expect(served.body.model).toBe(`acme/${wire}`);
      expect(JSON.stringify(served.body.router_metadata)).toContain('"pinned":true');
    }
  });

  it('pin nothing if the last one names no model', async () => {
    lab.answer(() => ({ text: 'ok' }));
    const input = [asked, said('acme/gemini'), asked, said(), asked];
    const served = await lab.respond('gemini', mode, { ...pinned, input });
    expect(served.body.status).toBe('completed');
    expect(JSON.stringify(served.body.router_metadata)).not.toContain('"pinned":true');
  });
});
