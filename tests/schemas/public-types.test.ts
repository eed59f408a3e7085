import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wireNames } from '../api/lab.ts';
import { type RequestOptions, type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { openRecordings, recordingsOf } from '../api/open-recordings.ts';
import { type AnsweringApi, answeringApis } from './apis.ts';
import { type Exception, exceptions } from './exceptions.ts';
import { type Answer, readPublicSchemas } from './public-schemas.ts';

/*
 * Every answer that the gateway writes is complete by the types of the newest official clients. Fields that a provider wrote
 * on the wire of the same format pass unchanged.
 */

/** The names of the recordings of a wire. A name has a streamed and a whole answer, or one that serves both. */
const models = wireNames.flatMap((wire) => {
  const files = readdirSync(recordingsOf(wire)).filter((file) => file.endsWith('.http'));
  const names = new Set(files.map((file) => file.replace(/(?:\.whole|\.stream)?\.http$/, '')));
  return [...names].map((name) => ({ wire, model: `${wire}/${name}` }));
});

let recordings: Awaited<ReturnType<typeof openRecordings>>;
let simulator: TestGateway;
let findFaults: Awaited<ReturnType<typeof readPublicSchemas>>;
beforeAll(async () => {
  [recordings, simulator, findFaults] = await Promise.all([
    openRecordings(wireNames),
    testGateway(),
    readPublicSchemas(),
  ]);
});
afterAll(() => Promise.all([recordings.close(), simulator.close()]));

/** Returns the faults of all answers of an API, and the exceptions that allow some of them. */
async function listFaults(api: AnsweringApi) {
  const faults = new Set<string>();
  const met = new Set<Exception>();
  for (const isStreamed of [false, true]) {
    for (const { wire, model } of models) {
      for (const { answer, value } of await ask(api, model, isStreamed)) {
        for (const fault of findFaults(answer, value)) {
          const exception = exceptions.find(
            (one) => one.api.test(api.name) && one.fault.test(fault) && (!one.fromProvider || wire === api.sameAs),
          );
          if (exception) met.add(exception);
          else faults.add(`${model}: ${answer}: ${fault}`);
        }
      }
    }
  }
  return { faults: [...faults], met };
}

async function ask(
  api: AnsweringApi,
  model: string,
  isStreamed: boolean,
): Promise<{ answer: Answer; value: object }[]> {
  const { path, body } = api.write(model, isStreamed);
  const response = await recordings.gateway.post(path, body);
  const text = await response.text();
  if (!response.ok) return [{ answer: api.error, value: JSON.parse(text) as object }];
  if (!isStreamed) return [{ answer: api.whole, value: JSON.parse(text) as object }];
  const events = readEvents(text);
  expect(events.length, `${model}: ${text}`).toBeGreaterThan(0);
  return events.map((value) => ({ answer: api.findFailure(value) ?? api.event, value }));
}

const readEvents = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)) as Record<string, unknown>);

it('finds what an answer lacks', () => {
  expect(findFaults('message', { type: 'message', content: [{ type: 'text', text: 5 }] })).toEqual(
    expect.arrayContaining(['content[].text is 5, not string', 'id is missing', 'usage is missing']),
  );
  expect(findFaults('responseEvent', { type: 'response.created' })).toEqual(
    expect.arrayContaining(['response is missing', 'sequence_number is missing']),
  );
});

describe.each(answeringApis)('the answers of $name', (api) => {
  it('are complete by the newest public types, with no exception that is not met', async () => {
    const { faults, met } = await listFaults(api);
    expect(faults).toEqual([]);
    expect(exceptions.filter((one) => one.api.test(api.name) && !met.has(one))).toEqual([]);
  });
});

/** OpenAI returns the messages of the user, too, although its type has none. */
const sentBack = 'output[] is {"type":"message"}, which is unknown';
const user = { role: 'user', content: 'Hello' };
const image = { model: 'simulator/image', prompt: 'A red fox' };
const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
const asAnthropic = { headers: { 'anthropic-version': '2023-06-01' } };

it.each<[Answer, string, object?, RequestOptions?]>([
  ['compactedResponse', '/responses/compact', { model: 'simulator/echo', input: 'Hello' }],
  ['inputTokens', '/responses/input_tokens', { model: 'simulator/echo', input: 'Hello' }],
  ['embeddings', '/embeddings', { model: 'simulator/embedding', input: ['Hello', 'Bye'], encoding_format: 'float' }],
  ['images', '/images/generations', image],
  ['images', '/images/generations', { ...image, quality: 'high', background: 'opaque', response_format: 'url' }],
  ['imageEvent', '/images/generations', { ...image, stream: true, partial_images: 2 }],
  ['openaiModels', '/models'],
  ['openaiModel', '/models/simulator/echo'],
  ['messageTokens', '/messages/count_tokens', { model: 'simulator/echo', messages: [user] }],
  ['messageModels', '/models', undefined, asAnthropic],
  ['contentTokens', '/api/v1beta/models/simulator/echo:countTokens', { contents }],
  ['contentModel', '/api/v1beta/models/simulator/echo'],
])('%s of %s %j is complete', async (answer, path, body, options) => {
  const response = await (body ? simulator.post(path, body, options) : simulator.get(path, options));
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const values = answer === 'imageEvent' ? readEvents(text) : [JSON.parse(text) as object];
  expect(values).not.toEqual([]);
  expect(values.flatMap((value) => findFaults(answer, value))).toEqual(
    answer === 'compactedResponse' ? [sentBack] : [],
  );
});

it.each<[Answer, string, object?, RequestOptions?]>([
  ['openaiError', '/chat/completions', { model: 'simulator/echo' }],
  ['openaiError', '/embeddings', {}],
  ['openaiError', '/images/generations', {}],
  ['openaiError', '/models/unknown/model'],
  ['messageError', '/messages', { model: 'simulator/echo' }],
  ['messageError', '/messages/count_tokens', {}],
  ['contentError', '/api/v1beta/models/simulator/echo:countTokens', {}],
  ['contentError', '/api/v1beta/models/unknown/model'],
])('%s of %s is complete', async (answer, path, body, options) => {
  for (const key of [undefined, 'an-unknown-key']) {
    const more = { ...options, ...(key && { key }) };
    const response = await (body ? simulator.post(path, body, more) : simulator.get(path, more));
    expect(response.ok).toBe(false);
    expect(findFaults(answer, await response.json())).toEqual([]);
  }
});
