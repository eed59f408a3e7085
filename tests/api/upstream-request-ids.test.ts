import { afterAll, beforeAll, expect, it } from 'vitest';
import { json, type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';
import { answer, cases, complaint } from './lab.ts';

/* The provider's id of a request is in the metadata of its attempt. */

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: cases
      .filter(({ mode }) => mode === 'buffered')
      .map(({ wire }) => ({
        id: wire,
        wire,
        base_url: upstream.url,
        models: ['one', 'two', 'vectors'].map((name) => ({ model: `${wire}/${name}`, upstream_model: name })),
      })),
  });
});
afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

const withMetadata = { headers: { 'x-router-metadata': 'enabled' } };
const attemptsOf = (text: string): object[] => {
  const last = text.split('\n\n').findLast((frame) => frame.includes('router_metadata')) ?? text;
  const body = JSON.parse(last.replace(/^data: /, ''));
  return (body.response ?? body).router_metadata.attempts;
};

it.each(cases)('$wire, $mode: of a failed attempt and of the response', async (how) => {
  upstream.respond(json(complaint('Down.'), { status: 500, headers: { 'request-id': 'req_1', 'cf-ray': 'ray' } }));
  upstream.respond({ ...answer(how), headers: { ...answer(how).headers, 'x-request-id': 'req_2' } });
  const models = [`${how.wire}/one`, `${how.wire}/two`];
  const body = { models, input: 'Hi', stream: how.mode === 'streamed' };
  const text = await (await gateway.post('/responses', body, withMetadata)).text();
  expect(attemptsOf(text)).toMatchObject([
    { status: 500 + 2, upstream_request_id: 'req_1' },
    { status: 200, upstream_request_id: 'req_2' },
  ]);
});

it('is left out if the provider sends none, or no printable one', async () => {
  const sent: Record<string, string>[] = [{}, { 'x-request-id': 'a b' }, { 'x-request-id': 'x'.repeat(300) }];
  for (const headers of sent) {
    const how = { wire: 'openai-chat', mode: 'buffered' } as const;
    upstream.respond({ ...answer(how), headers: { ...answer(how).headers, ...headers } });
    const text = await (
      await gateway.post('/responses', { model: 'openai-chat/one', input: 'Hi' }, withMetadata)
    ).text();
    expect(attemptsOf(text)[0]).not.toHaveProperty('upstream_request_id');
  }
});
