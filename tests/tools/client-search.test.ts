import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, modes, openToolLab, type ToolLab, wireNames } from './lab.ts';

/*
 * A search for tools that the client runs, as Codex has it. Source: CommandCodeAI/command-code#885
 */

const parameters = { type: 'object', properties: { query: { type: 'string' } } };
const search = { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters };
const define = (name: string, more: object = {}) => ({
  type: 'function',
  name,
  description: `Does ${name}.`,
  parameters: { type: 'object', properties: {} },
  ...more,
});
const tools = [search, define('ask_user'), define('hidden', { defer_loading: true })];
const searched = [
  { role: 'user', content: 'Note this.' },
  {
    type: 'tool_search_call',
    call_id: 'call_s',
    execution: 'client',
    status: 'completed',
    arguments: { query: 'note' },
  },
  {
    type: 'tool_search_output',
    call_id: 'call_s',
    execution: 'client',
    status: 'completed',
    tools: [
      define('add_note', { defer_loading: true }),
      {
        type: 'namespace',
        name: 'crm',
        description: 'Customers.',
        tools: [define('list_leads', { defer_loading: true })],
      },
    ],
  },
];

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab();
});
afterAll(() => lab.close());

/** Sends a request. The stream has tools that its schema lacks, as every newer tool of a client. */
async function respond(wire: string, mode: string): Promise<{ output: Record<string, unknown>[] }> {
  const body = { model: `acme/${wire}`, input: 'Note this.', tools };
  if (mode === 'buffered') return (await (await lab.gateway.post('/responses', body)).json()) as never;
  const { events } = await lab.gateway.stream(body);
  return (events.at(-1) as unknown as { response: never }).response;
}

const isNative = (wire: string): boolean => wire === 'openai-responses';

describe.each(wireNames)('the search of a client on %s', (wire) => {
  it.each(modes)('is called by the model, %s', async (mode) => {
    lab.takeRequests();
    lab.script(wire, { calls: [call(isNative(wire) ? 'ask_user' : 'tool_search', { query: 'note' })] });
    const body = await respond(wire, mode);

    expect(body).toMatchObject({ status: 'completed', tools });
    const [request] = lab.takeRequests();
    expect(request!.text).toContain('Finds tools.');
    expect(request!.text.includes('Does hidden.')).toBe(isNative(wire));
    if (isNative(wire)) {
      expect(request!.text).toContain('"execution":"client"');
      expect(request!.text).toContain('"defer_loading":true');
      return;
    }
    const { type, execution, arguments: given, call_id: id } = body.output.at(-1)!;
    expect({ type, execution, given, id }).toEqual({
      type: 'tool_search_call',
      execution: 'client',
      given: { query: 'note' },
      id: expect.any(String),
    });
  });

  it('shows the tools that it has found', async () => {
    lab.takeRequests();
    lab.script(wire, { text: 'Done.' });
    const { status, body } = await lab.respond(wire, 'buffered', { tools, input: searched });

    expect([status, body.router_metadata?.params]).toEqual([
      200,
      expect.not.objectContaining({ dropped_fields: expect.anything() }),
    ]);
    const [request] = lab.takeRequests();
    expect(request!.text).toContain('Does add_note.');
    expect(request!.text).toContain('Does list_leads.');
    expect(request!.text.includes('tool_search_output')).toBe(isNative(wire));
    expect(request!.text.includes('Found: add_note, crm.')).toBe(!isNative(wire));
  });
});
