import { expect, it } from 'vitest';
import type { ResponseRequest } from '../../domain/request.ts';
import { readRecording } from '../../testing/replay.ts';
import { testWire } from '../contract.ts';
import type { Target } from '../wire.ts';
import { simulator } from './index.ts';

const recordings = new URL('recordings/', import.meta.url);

testWire(simulator, recordings, { errors: { 'broken.stream.http': 'rate_limited' } });

// The responses of the simulator must stay the same: demos, documents and tests of others quote them. An image
// keeps its pixels; how they are compressed may change with sharp.
it.each<[string, string, string, Partial<ResponseRequest>?]>([
  ['text', 'echo', 'Grüße, world 😀'],
  ['reasoning', 'reasoner', 'Why is the sky blue?', { reasoning: { effort: 'minimal', summary: 'auto' } }],
  ['length', 'writer', 'On cats', { max_output_tokens: 8 }],
  ['citations', 'echo', '[[say As written there.]] [[cite https://example.com/a A page]] [[logprobs 2]]'],
])('still responds as recorded: %s', async (name, upstreamModel, prompt, fields) => {
  const target: Target = { endpoint: 'simulator', upstreamModel, stream: true, dialect: {} };
  const request = simulator.text.writeRequest(
    { ...fields, input: [{ type: 'message', role: 'user', content: prompt }] },
    target,
  );
  let body = '';
  for await (const frames of simulator.text.send!(request, new AbortController().signal)) {
    for (const { data } of frames) body += `data: ${data}\n\n`;
  }
  expect(body).toBe(readRecording(new URL(`${name}.stream.http`, recordings)).body.toString());
});
