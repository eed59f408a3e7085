import { afterAll, beforeAll, expect, it } from 'vitest';
import { type SseFrame, sse } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { chatChunk } from '../api/lab.ts';
import { cleanUp, type GatewayProcess, openStream, startGateway } from './gateway-process.ts';

/** Far less than four streams need if each one is kept up to the maximum length of a string. */
const smallHeap = { NODE_OPTIONS: '--max-old-space-size=400' };

let upstream: ScriptedUpstream;
let gateway: GatewayProcess;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await startGateway({
    env: smallHeap,
    config: {
      providers: [
        { id: 'p', wire: 'openai-chat', base_url: upstream.url, api_key: 'k', models: [{ model: 'acme/m' }] },
      ],
    },
  });
});
afterAll(async () => {
  await cleanUp();
  await upstream.close();
});

async function* endless(frame: object): AsyncGenerator<SseFrame> {
  for (;;) yield frame;
}

it.each([
  ['letters', chatChunk({ content: 'x'.repeat(60_000) })],
  ['characters of three bytes', chatChunk({ content: '世'.repeat(20_000) })],
  ['characters that are long as JSON', chatChunk({ content: `世${'\u0001'.repeat(10_000)}` })],
  ['reasoning', chatChunk({ reasoning_content: 'x'.repeat(60_000) })],
  ['calls', chatChunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: 'x'.repeat(60_000) } }] })],
])(
  'a gateway with a small heap survives four endless streams of %s',
  async (_name, frame) => {
    upstream.always(sse(endless(frame)));
    const ends = await Promise.all(
      [1, 2, 3, 4].map(async () => {
        const stream = await openStream(gateway.post({ model: 'acme/m', input: 'Hello', stream: true }));
        return (await stream.readAll()).slice(-4000);
      }),
    );

    for (const end of ends) {
      expect(end).toContain('"error_type":"provider_unavailable"');
      expect(end.endsWith('data: [DONE]\n\n')).toBe(true);
    }
    upstream.always(sse([chatChunk({ content: 'Still here.' }), chatChunk({}, 'stop')], { done: true }));
    const answer = await gateway.post({ model: 'acme/m', input: 'Hello' });
    expect(await answer.json()).toMatchObject({ status: 'completed' });
    expect(gateway.running.stderr).not.toMatch(/Invalid string length|"level":50/);
  },
  180_000,
);

it('the gateway ends with 0 after them', async () => {
  expect(await gateway.end()).toBe(0);
});
