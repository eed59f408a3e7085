import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call, type Mode, modes, openToolLab, type ToolLab, type WireName, wireNames } from './lab.ts';
import { type ScriptedMcpServer, startMcpServer } from './mcp-server.ts';

/*
 * Screenshots and charts of MCP servers reach the model, as in other agents: github/copilot-cli#4536, lobehub/lobehub#13348. Where
 * results are texts, they follow in a message of the user: nesquikm/mcp-rubber-duck#78.
 */
const servers = {
  seeing: { input: ['text', 'image'] },
  blind: { input: ['text'] },
  unknown: undefined,
} satisfies Record<string, object | undefined>;
let server: ScriptedMcpServer;
let labs: Record<keyof typeof servers, ToolLab>;
beforeAll(async () => {
  server = await startMcpServer();
  const parts = { mcp: { servers: { docs: { url: server.url, require_approval: 'never' } } } };
  const open = (capabilities: object | undefined) =>
    openToolLab(parts, { 'openai-responses': { native_mcp: false } }, {}, capabilities);
  labs = { seeing: await open(servers.seeing), blind: await open(servers.blind), unknown: await open(undefined) };
});
beforeEach(() => {
  server.reset();
  for (const lab of Object.values(labs)) lab.takeRequests();
});
afterAll(async () => {
  for (const lab of Object.values(labs)) await lab.close();
  await server.close();
});

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const image = { type: 'image', data: png, mimeType: 'image/png' };

/** Has the model call a tool whose result has these blocks, and returns what the model then reads. */
async function show(of: keyof typeof servers, wire: WireName, mode: Mode, content: object[], isError = false) {
  server.once('tools/call', ({ result }) => result({ content, isError }));
  const lab = labs[of];
  lab.script(wire, { calls: [call('docs__echo', { text: 'x' })] }, { text: 'Done.' });
  const tools = [{ type: 'mcp', server_label: 'docs' }];
  const { body } = await lab.respond(wire, mode, { tools });
  const [, second] = lab.takeRequests();
  const [item] = body.output.filter(({ type }) => type === 'mcp_call');
  return { status: body.status, item, sent: second!.body as Record<string, unknown>, text: second!.text };
}

/** The place of the image in the request of each wire. */
const places: Record<WireName, (sent: Record<string, unknown>) => unknown> = {
  'openai-chat': ({ messages }) => (messages as object[]).at(-1),
  'openai-responses': ({ input }) => (input as { output: object[] }[]).at(-1)!.output[1],
  'ai-sdk': ({ input }) => (input as { output: object[] }[]).at(-1)!.output[1],
  'anthropic-messages': ({ messages }) =>
    (messages as { content: { content: object[] }[] }[]).at(-1)!.content[0]!.content[1],
  gemini: ({ contents }) => (contents as { parts: object[] }[]).at(-1)!.parts[1],
};
const url = `data:image/png;base64,${png}`;
const shown: Record<WireName, unknown> = {
  'openai-chat': { role: 'user', content: [{ type: 'image_url', image_url: { url } }] },
  'openai-responses': { type: 'input_image', image_url: url },
  'ai-sdk': { type: 'input_image', image_url: url },
  'anthropic-messages': { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
  gemini: { inlineData: { mimeType: 'image/png', data: png } },
};

describe.each(wireNames)('an image of a result on %s', (wire) => {
  it.each(modes)('reaches a model that takes images, %s', async (mode) => {
    const { status, item, sent, text } = await show('seeing', wire, mode, [{ type: 'text', text: 'A cat.' }, image]);
    expect(status).toBe('completed');
    expect(places[wire](sent)).toMatchObject(shown[wire] as object);
    expect(text).toContain('A cat.');
    expect(text).toContain('which follow as an image');
    expect(item).toMatchObject({ output: expect.stringContaining('which the gateway does not pass on'), error: null });
  });

  it.each(['blind', 'unknown'] as const)('is described for a model whose images are: %s', async (of) => {
    const { status, text } = await show(of, wire, 'buffered', [image]);
    expect(status).toBe('completed');
    expect(text).not.toContain(png);
    expect(text).toContain('which the gateway does not pass on');
  });
});

const wire = 'openai-responses';

it.each([
  [
    'an image in a resource',
    { type: 'resource', resource: { uri: 'file:///a.png', mimeType: 'image/png', blob: png } },
  ],
  ['an image with another type', { ...image, mimeType: 'image/jpg' }],
])('%s reaches the model', async (_what, block) => {
  const { sent } = await show('seeing', wire, 'buffered', [block]);
  expect(places[wire](sent)).toEqual(shown[wire]);
});

it('the images of a failed call reach the model', async () => {
  const { sent, item } = await show('seeing', wire, 'buffered', [image], true);
  expect(places[wire](sent)).toEqual(shown[wire]);
  expect(item).toMatchObject({ output: null, error: { type: 'mcp_tool_execution_error' } });
});

it.each([
  ['a broken image', { ...image, data: png.slice(0, 40) }],
  [
    'a drawing',
    {
      ...image,
      mimeType: 'image/svg+xml',
      data: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64'),
    },
  ],
  ['audio', { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' }],
  ['a file', { type: 'resource', resource: { uri: 'file:///a.bin', blob: 'AAAA' } }],
  ['a link', { type: 'resource_link', uri: 'https://example.com/a.png', name: 'a.png' }],
])('%s is described', async (_what, block) => {
  const { sent, item } = await show('seeing', wire, 'buffered', [block]);
  const { output } = (sent['input'] as { output: unknown }[]).at(-1)!;
  expect(output).toEqual(JSON.stringify({ output: item!['output'] }));
  expect(output).not.toContain('"data":"UklGRg=="');
  expect(item!['output']).toMatch(/does not pass on|a\.png/);
});
