import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { openRaw } from './raw-client.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const body = JSON.stringify({ model: 'simulator/echo', input: 'hello' });
const awaiting = { expect: '100-continue', 'content-length': body.length };

/** The status of each response, in order. */
const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

it('requests the body of a client that waits for 100 Continue, and keeps the connection', async () => {
  const client = openRaw(gateway);
  for (const answers of [1, 2]) {
    client.sendHead(awaiting);
    await expect.poll(() => statuses(client.text)).toHaveLength(2 * answers - 1);
    client.socket.write(body);
    await expect.poll(() => statuses(client.text)).toHaveLength(2 * answers);
  }
  client.socket.destroy();
  expect(statuses(client.text)).toEqual([100, 200, 100, 200]);
  expect(client.text).toMatch(/^keep-alive: timeout=620\r$/im); // Google's load balancers reuse connections for 600 s
});

it.each([
  [401, { authorization: 'Bearer nobody-knows-this-key' }],
  [413, { 'content-length': 64 * 1024 * 1024 }],
  [400, { 'content-type': 'text/xml' }],
  [400, { 'content-encoding': 'compress' }],
])('returns %i instead of 100 Continue, and closes the connection: %j', async (status, headers) => {
  const client = openRaw(gateway);
  client.sendHead({ ...awaiting, ...headers });

  await once(client.socket, 'close');

  expect(statuses(client.text)).toEqual([status]);
  expect(client.text).toMatch(/^connection: close\r$/m);
  expect(client.text).toContain(`"code":${status}`);
});

it('returns 417 in the envelope for another expectation', async () => {
  const client = openRaw(gateway);
  client.sendHead({ ...awaiting, expect: 'nonsense' });
  await expect.poll(() => client.text).toContain('\r\n\r\n{');
  client.socket.destroy();

  expect(statuses(client.text)).toEqual([417]);
  expect(client.text).toMatch(/^x-generation-id: gen-/m);
  const { error } = JSON.parse(client.text.slice(client.text.indexOf('{"error"'))) as { error: object };
  expect(error).toEqual({
    code: 417,
    message: 'Expect: nonsense is not supported; the only expectation is 100-continue.',
    type: 'invalid_request',
    param: null,
    metadata: { error_type: 'invalid_request' },
  });
});

it('returns 401 for another expectation without a key', async () => {
  const client = openRaw(gateway);
  client.sendHead({ ...awaiting, expect: 'nonsense', authorization: 'Bearer nobody-knows-this-key' });
  await expect.poll(() => statuses(client.text)).toEqual([401]);
  client.socket.destroy();
});
