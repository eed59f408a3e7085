import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Cancellation } from '../../src/domain/cancellation.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import type { InputItem } from '../../src/domain/items.ts';
import type { ToolLoop } from '../../src/pipeline/run/server-tools.ts';
import { checkEvents } from '../api/check-events.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { modes, openPipelineLab, type PipelineLab, serverToolsOf, wireNames } from './lab.ts';

/** A lookup tool that shows the client a search while it works. */
const lookup: Pick<ToolLoop, 'owns' | 'run'> = {
  owns: (name) => name === 'lookup',
  async run({ toolCalls, number }, out) {
    const key = `search-${number}`;
    const item = { id: `ws_${number}`, type: 'web_search_call', status: 'in_progress' };
    await out.write([{ type: 'item', key, item }]);
    await out.write([{ type: 'item_done', key, item: { ...item, status: 'completed' } }]);
    const items = toolCalls.map((call): InputItem => {
      return { type: 'function_call_output', call_id: call.callId, output: `found for ${call.arguments}` };
    });
    return { items, settings: { tool_choice: 'none' } };
  },
};
const tools = ['lookup', 'ask_user'].map((name) => ({
  type: 'function' as const,
  name,
  parameters: { type: 'object', properties: { q: { type: 'string' } } },
}));
const call = (name: string, input = { q: 'Oslo' }) => ({ name, input });
const looking: Turn = {
  reasoning: 'I should look.',
  encrypted: 'c2VhbA==',
  text: 'Let me look.',
  calls: [call('lookup')],
};
const answering: Turn = { reasoning: 'Found it.', encrypted: 'c2VhbDI=', text: 'It is 21 degrees.' };

/** The usage of one turn. A million input tokens cost 1 USD, a million output tokens 10 USD. */
const turnNanoUsd = BigInt(defaultCounts.input * 1000 + defaultCounts.output * 10_000);

let lab: PipelineLab;
afterEach(() => lab.close());

const isText = (item: { type: string }) => item.type !== 'reasoning';

describe.each(wireNames)('two steps on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    beforeEach(async () => {
      lab = await openPipelineLab(2, { tools: serverToolsOf(lookup) });
    });

    it('are one response, whose items are in order', async () => {
      lab.script(wire, 0, looking, answering);
      const { events, response, error } = await lab.respond(wire, mode, { tools });

      expect(error).toBeUndefined();
      if (mode === 'streamed') checkEvents(events);
      expect(response).toMatchObject({ status: 'completed' });
      const items = response!.output.filter(isText);
      expect(items).toMatchObject([
        { type: 'message', content: [{ text: 'Let me look.' }] },
        { type: 'web_search_call', status: 'completed' },
        { type: 'message', content: [{ text: 'It is 21 degrees.' }] },
      ]);
      expect(new Set(response!.output.map(({ id }) => id)).size).toBe(response!.output.length);
      expect(JSON.stringify(events)).not.toContain('function_call'); // the client does not see the call itself
    });

    it('send the output of the model and the result of the tool in the second one', async () => {
      lab.script(wire, 0, looking, answering);
      await lab.respond(wire, mode, { tools });

      const [first, second] = lab.upstreams[0]!.requests.map(({ text }) => text);
      expect(first).not.toContain('Let me look.');
      expect(second).toContain('What is the weather?');
      expect(second).toContain('Let me look.');
      expect(second).toMatch(/found for \{\\+"q\\+":\\+"Oslo\\+"\}/);
      expect(second!.match(/lookup/g)!.length).toBeGreaterThan(1); // the tool, and the call of it
      if (wire !== 'openai-chat') expect(second).toContain('c2VhbA=='); // the reasoning is sent back unchanged
      expect(second!.indexOf('Let me look.')).toBeLessThan(second!.indexOf('found for'));
    });

    it('are recorded as one entry that is the sum of its turns', async () => {
      lab.script(wire, 0, looking, answering);
      const { response, run } = await lab.respond(wire, mode, { tools });

      expect(response!.usage).toMatchObject({
        input_tokens: 2 * defaultCounts.input,
        output_tokens: 2 * defaultCounts.output,
        cost: Number(2n * turnNanoUsd) / 1e9,
      });
      expect(lab.entries).toMatchObject([
        {
          outcome: 'completed',
          inputTokens: 2 * defaultCounts.input,
          costNanoUsd: 2n * turnNanoUsd,
          lines: [
            { kind: 'attempt', costNanoUsd: turnNanoUsd, status: 200 },
            { kind: 'turn', costNanoUsd: turnNanoUsd, status: 200 },
          ],
        },
      ]);
      expect(run.steps.map(({ attempts }) => attempts.length)).toEqual([1, 1]);
      expect(response!.router_metadata).toMatchObject({ attempt: 2, attempts: [{ status: 200 }, { status: 200 }] });
    });

    it('fall back in the second as in the first', async () => {
      lab.script(wire, 0, looking, { fail: { status: 503, message: 'Busy.' } });
      lab.script(wire, 1, answering);
      const { events, response, run } = await lab.respond(wire, mode, { tools });

      if (mode === 'streamed') checkEvents(events);
      expect(response).toMatchObject({ status: 'completed' });
      expect(response!.output.filter(isText)).toHaveLength(3);
      expect(run.steps.map(({ attempts }) => attempts.map(({ status }) => status))).toEqual([[200], [529, 200]]);
      expect(run.steps.map(({ committed }) => committed?.endpoint.provider.name)).toEqual(['Server 0', 'Server 1']);
    });

    it('keep the endpoint of the first', async () => {
      lab.script(wire, 0, { fail: { status: 503, message: 'Busy.' } });
      lab.script(wire, 1, looking, answering);
      const { response } = await lab.respond(wire, mode, { tools });

      expect(response).toMatchObject({ status: 'completed' });
      expect(lab.upstreams.map(({ requests }) => requests.length)).toEqual([1, 2]);
    });

    it('cost as much as the first if the second fails', async () => {
      lab.script(wire, 0, looking, { fail: { status: 400, message: 'No.' } });
      lab.script(wire, 1, { fail: { status: 400, message: 'No.' } });
      const { events, response, error } = await lab.respond(wire, mode, { tools });

      if (mode === 'buffered') {
        expect(events).toEqual([]);
        expect(error).toMatchObject({ status: 400 });
      } else {
        checkEvents(events);
        expect(response).toMatchObject({ status: 'failed', usage: { cost: Number(turnNanoUsd) / 1e9 } });
        expect(response!.output.filter(isText)).toHaveLength(2);
      }
      expect(lab.entries).toMatchObject([{ outcome: 'failed', costNanoUsd: turnNanoUsd, provider: 'Server 0' }]);
    });
  });
});

describe.each(modes)('the end of a %s run', (mode) => {
  it('is that of its step if no other follows', async () => {
    const seen: string[] = [];
    lab = await openPipelineLab(1, {
      tools: serverToolsOf({ ...lookup, run: (step) => void seen.push(...step.toolCalls.map(({ name }) => name)) }),
    });
    lab.script('openai-responses', 0, { calls: [call('lookup'), call('ask_user')] });
    const { events, response } = await lab.respond('openai-responses', mode, { tools });

    if (mode === 'streamed') checkEvents(events);
    expect(seen).toEqual(['lookup']);
    expect(response).toMatchObject({ status: 'completed', output: [{ type: 'function_call', name: 'ask_user' }] });
    expect(lab.entries).toMatchObject([{ outcome: 'completed', costNanoUsd: turnNanoUsd }]);
  });

  it('is the reason of a cancellation while a tool works', async () => {
    const cancellation = new Cancellation();
    const left = new GatewayError('client_closed', 'The client disconnected.');
    lab = await openPipelineLab(1, {
      tools: serverToolsOf({
        ...lookup,
        async run() {
          cancellation.cancel(left);
          return { items: [] };
        },
      }),
    });
    lab.script('openai-chat', 0, { calls: [call('lookup')] }, answering);
    const { error } = await lab.respond('openai-chat', mode, { tools }, cancellation);

    expect(error).toBe(left);
    expect(lab.upstreams[0]!.requests).toHaveLength(1);
    expect(lab.entries).toMatchObject([{ outcome: 'cancelled', costNanoUsd: turnNanoUsd }]);
  });

  it('does not wait for a tool that the request does not use', async () => {
    lab = await openPipelineLab(1, { tools: serverToolsOf(lookup) });
    lab.script('openai-chat', 0, { text: 'Hello.', calls: [call('ask_user')] });
    const { response } = await lab.respond('openai-chat', mode, { tools });

    expect(response).toMatchObject({ output: [{ type: 'message' }, { type: 'function_call', name: 'ask_user' }] });
  });
});

it('the settings of a step reach its provider, and those of the request stay unchanged', async () => {
  lab = await openPipelineLab(1, { tools: serverToolsOf(lookup) });
  lab.script('openai-chat', 0, looking, answering);
  const { run } = await lab.respond('openai-chat', 'buffered', { tools, tool_choice: 'required' });

  expect(lab.upstreams[0]!.requests.map(({ body }) => (body as { tool_choice?: string }).tool_choice)).toEqual([
    'required',
    'none',
  ]);
  expect(run.request.tool_choice).toBe('required');
});
