import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, shownItems, type ToolLab, wireNames } from './lab.ts';
import { readSent } from './sent.ts';

/* Tools of the client: groups, custom tools with a grammar, and asynchronous functions. */

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
});
afterAll(() => lab.close());

const parameters = { type: 'object', properties: { key: { type: 'string' } } };
const group = {
  type: 'namespace',
  name: 'crm',
  description: 'Customers of the shop',
  tools: [
    { type: 'function', name: 'find', description: 'Finds one', parameters },
    { type: 'custom', name: 'query', description: 'Runs a query' },
  ],
};
const sql = {
  type: 'custom',
  name: 'sql',
  description: 'Runs SQL',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "SELECT" NAME' },
};
const slow = { type: 'function', name: 'slow', parameters, async: true };
const user = (content: string) => ({ type: 'message', role: 'user', content });
const answering: Turn = { text: 'Done.' };

describe.each(wireNames)('tools of the client on %s', (wire) => {
  const isNative = wire === 'openai-responses';

  describe.each(modes)('%s', (mode) => {
    const respond = (request: object, ...turns: Turn[]) => {
      lab.takeRequests();
      lab.script(wire, ...turns);
      return lab.respond(wire, mode, request);
    };

    it.skipIf(isNative)('flattens a group, and its calls name the group', async () => {
      const served = await respond({ tools: [group] }, { calls: [call('crm__find', { key: 'k1' })] });
      expect(shownItems(served)).toMatchObject([{ type: 'function_call', name: 'find', namespace: 'crm' }]);
      const [sent] = lab.takeRequests();
      expect(readSent(wire, sent!).tools).toEqual(['crm__find', 'crm__query']);
      for (const text of ['Customers of the shop', 'Finds one', 'Runs a query']) expect(sent!.text).toContain(text);

      const [item] = served.body.output.filter(({ type }) => type === 'function_call');
      const output = { type: 'function_call_output', call_id: item!['call_id'], output: 'Ann' };
      await respond({ tools: [group], input: [user('Find k1.'), ...served.body.output, output] }, answering);
      const [again] = lab.takeRequests();
      expect(readSent(wire, again!).calls).toMatchObject([{ name: 'crm__find', value: { key: 'k1' } }]);
    });

    it('sends the grammar of a custom tool, whose calls are free text', async () => {
      const input = isNative ? 'SELECT a' : { input: 'SELECT a' };
      const served = await respond({ tools: [sql] }, { calls: [call('sql', input as object)] });
      expect(shownItems(served)).toMatchObject([
        { type: 'custom_tool_call', name: 'sql', input: 'SELECT a', status: 'completed' },
      ]);
      const [sent] = lab.takeRequests();
      expect(sent!.text).toContain('start: \\"SELECT\\" NAME');
      const [item] = shownItems(served);
      const output = { type: 'custom_tool_call_output', call_id: item!['call_id'], output: '1 row' };
      const second = await respond({ tools: [sql], input: [user('Go.'), ...served.body.output, output] }, answering);
      expect(second.body.status).toBe('completed');
      expect(lab.takeRequests()[0]!.text).toContain('1 row');
    });

    it('passes on that a function is asynchronous, or names it', async () => {
      const served = await respond({ tools: [slow] }, answering);
      const { dropped_fields: dropped = [] } = served.body.router_metadata!.params as { dropped_fields?: string[] };
      expect(dropped).toEqual(isNative ? [] : ['tools[0].async']);
      expect(lab.takeRequests()[0]!.text.includes('"async":true')).toBe(isNative);
    });

    it('accepts the output of a call after later turns', async () => {
      const input = [
        user('Start it.'),
        { type: 'function_call', call_id: 'a', name: 'slow', arguments: '{"key":"a"}', async: true },
        { type: 'function_call', call_id: 'b', name: 'quick', arguments: '{}' },
        { type: 'function_call_output', call_id: 'b', output: 'quick result' },
        { type: 'message', role: 'assistant', content: 'I go on meanwhile.' },
        user('Thanks.'),
        { type: 'function_call_output', call_id: 'a', output: 'slow result' },
        user('And?'),
      ];
      const served = await respond({ tools: [slow], input }, answering);
      expect(served.body.status).toBe('completed');
      const [sent] = lab.takeRequests();
      const { calls, results } = readSent(wire, sent!);
      expect(sent!.text).toContain('slow result');
      expect(calls).toHaveLength(2);
      if (isNative) {
        expect(results.map(({ value }) => value)).toEqual(['quick result', 'slow result']);
        return;
      }
      expect(results).toHaveLength(2);
      const text = JSON.stringify(results);
      expect(text).toContain('quick result');
      expect(text).toContain('not available yet');
      expect(text).not.toContain('slow result');
      expect(sent!.text.indexOf('I go on meanwhile.')).toBeLessThan(sent!.text.indexOf('slow result'));
      expect(sent!.text).toContain('[Output of the earlier call of slow]');
    });
  });

  it.each(
    modes,
  )('renames what the provider cannot have, and its calls have the name of the client: %s', async (mode) => {
    const tools = [
      ...['jira/issues.find', 'a:b', 'f'.repeat(128)].map((name) => ({ type: 'function', name, parameters })),
      ...(isNative
        ? []
        : [
            { ...group, name: 'g'.repeat(61) },
            { ...sql, name: 'a b' },
          ]),
    ];
    const respond = async (...turns: Turn[]) => {
      lab.takeRequests();
      lab.script(wire, ...turns);
      const served = await lab.respond(wire, mode, { tools });
      return { served, sent: readSent(wire, lab.takeRequests()[0]!).tools };
    };
    const { sent } = await respond(answering);
    for (const name of sent) expect(name).toMatch(/^[A-Za-z0-9_-]{1,128}$/);
    expect(new Set(sent).size).toBe(isNative ? 3 : 6);
    const { served } = await respond({ calls: sent.map((name) => call(name, { key: 'k1', input: 'SELECT a' })) });
    expect(shownItems(served).map(({ name }) => name)).toEqual(
      tools.flatMap((tool) => ('tools' in tool ? tool.tools.map(({ name }) => name) : [tool.name])),
    );
  });
});
