import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Json } from '../api/manage.ts';
import { call, modes, openToolLab, shownItems, type ToolLab, wireNames } from './lab.ts';

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
});
afterAll(() => lab.close());

const hello = { role: 'user', content: 'What is the time?' };
const announce = (...tools: object[]) => ({ type: 'additional_tools', role: 'developer', tools });
const look = { type: 'function', name: 'look_up', description: 'Looks words up', parameters: { type: 'object' } };

describe.each(modes)('tools of additional_tools items, %s', (mode) => {
  it.each(wireNames)('that are server tools run at the gateway, through %s', async (wire) => {
    lab.takeRequests();
    lab.script(wire, { calls: [call('router_datetime', { timezone: 'Asia/Tokyo' })] }, { text: 'Late.' });
    const input = [hello, announce({ type: 'router:datetime' }, look)];
    const served = await lab.respond(wire, mode, { input });
    expect(served.body.error).toBeFalsy();
    expect(shownItems(served)[0]).toMatchObject({ type: 'router:datetime', timezone: 'Asia/Tokyo' });
    const [first, second] = lab.takeRequests();
    for (const request of [first!, second!]) {
      expect(request.text).toContain('router_datetime');
      expect(request.text).toContain('look_up');
      expect(request.text).not.toContain('router:datetime"');
    }
  });

  it.each(wireNames)('with defer_loading are hidden until they are found, through %s', async (wire) => {
    lab.takeRequests();
    lab.script(wire, { calls: [call('router_tool_search', { query: 'words' })] }, { calls: [call('look_up')] });
    const input = [hello, announce({ ...look, defer_loading: true })];
    const served = await lab.respond(wire, mode, { tools: [{ type: 'router:tool_search' }], input });
    expect(served.body.error).toBeFalsy();
    expect(shownItems(served).map(({ type }) => type)).toEqual(['router:tool_search', 'function_call']);
    const [first, second] = lab.takeRequests();
    expect(first!.text).not.toContain('look_up');
    expect(second!.text).toContain('look_up');
  });

  it('replace earlier ones, and stay the same in the next request', async () => {
    lab.takeRequests();
    lab.script('openai-chat', { text: 'Yes.' });
    const tools = [{ type: 'router:datetime', parameters: { timezone: 'UTC' } }, look];
    const input = [hello, announce({ type: 'router:datetime' }), { role: 'assistant', content: 'Hm.' }, hello];
    const served = await lab.respond('openai-chat', mode, { tools, input });
    expect(served.body.error).toBeFalsy();
    const sent = JSON.parse(lab.takeRequests()[0]!.text) as Json;
    expect(sent.tools.map(({ function: { name } }: Json) => name)).toEqual(['look_up', 'router_datetime']);
  });

  it('are rejected like others, with their place', async () => {
    const refuse = async (tool: object): Promise<string> => {
      const served = await lab.respond('openai-chat', mode, { input: [hello, announce(tool)] });
      expect(served.status).toBe(400);
      return served.body.error!.message;
    };
    expect(await refuse({ type: 'router:datetime', parameters: { timezone: 'Moon/Sea' } })).toContain(
      'input[1].tools[0].parameters.timezone',
    );
    expect(await refuse({ type: 'router:unknown_one' })).toContain('input[1].tools[0].type');
    expect(await refuse({ type: 'mcp', server_label: 'none' })).toContain('input[1].tools[0].server_label');
    expect(await refuse({ ...look, defer_loading: true })).toContain('input[1].tools[0].defer_loading');
    expect(await refuse({ type: 'file_search', vector_store_ids: ['none/'] })).toContain(
      'input[1].tools[0].vector_store_ids[0]',
    );
  });
});
