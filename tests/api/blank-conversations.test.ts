import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';
import { answeringWires, plainAnswers } from '../rules/plain-answers.ts';

/* Applications send a blank first message. OpenAI accepts it. Claude and Gemini reject blank texts. */

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  const providers = answeringWires.map((wire) => ({
    id: wire,
    wire,
    base_url: upstream.url,
    models: [{ model: `${wire}/one` }],
  }));
  gateway = await testGateway({ providers });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const refusing: readonly string[] = ['anthropic-messages', 'gemini'];
const blank = { role: 'user', content: '' };

describe.each(answeringWires)('an empty message of the user, to %s', (wire) => {
  it.each([
    ['/chat/completions', { messages: [blank] }, 'messages'],
    ['/responses', { input: [blank] }, 'input'],
    ['/messages', { messages: [blank], max_tokens: 50 }, 'messages'],
  ])('on %s', async (path, body, field) => {
    upstream.always(plainAnswers[wire]('Hello.'));
    const before = upstream.requests.length;
    const response = await gateway.post(path, { model: `${wire}/one`, ...body });
    if (!refusing.includes(wire)) {
      expect(response.status).toBe(200);
      return;
    }
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { message: `${field}: holds no content: all of its texts are blank` },
    });
    expect(upstream.requests).toHaveLength(before);
  });
});
