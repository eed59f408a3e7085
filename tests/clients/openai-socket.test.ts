import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

it('the client of OpenAI continues a conversation over a WebSocket, and reads its error', async () => {
  const socket = new ResponsesWS(new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key }));
  socket.on('error', () => {}); // without a listener, errors of a closed socket end the process
  const body = { type: 'response.create', stream_id: 'main', model: 'simulator/echo', store: false } as const;
  socket.send({ ...body, input: 'one' });
  const texts: string[] = [];
  const previous: (string | null | undefined)[] = [];
  for await (const event of socket) {
    if (event.type === 'error') {
      expect(event.error.error).toMatchObject({ error: { code: 'previous_response_not_found' }, stream_id: 'main' });
      break;
    }
    if (event.type !== 'message' || event.message.type !== 'response.completed') continue;
    const { id, output, previous_response_id } = event.message.response;
    expect(event.message.stream_id).toBe('main');
    previous.push(previous_response_id);
    const [item] = output;
    if (item?.type === 'message' && item.content[0]?.type === 'output_text') texts.push(item.content[0].text);
    socket.send({ ...body, previous_response_id: texts.length < 2 ? id : 'resp_unknown', input: 'two' });
  }
  expect(texts).toEqual(['one', 'two']);
  expect(previous).toEqual([null, expect.stringMatching(/^resp_/)]);
  socket.close();
});
