import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ server: { regional_hosts: ['eu.example.com'] } });
});
afterAll(() => gateway.close());

/** Sends a request with a header `Host`, which `fetch` cannot set. */
async function send(method: string, path: string, host: string, key: string | undefined = testKeys.key) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; body: string }>();
  const authorization = key === '' ? {} : { authorization: `Bearer ${key}` };
  const sent = request(`${gateway.url}/api/v1${path}`, { method, headers: { host, ...authorization } });
  sent.once('response', async (response) => resolve({ status: response.statusCode, body: await text(response) }));
  sent.once('error', reject);
  sent.end();
  return promise;
}

it.each([
  ['GET', '/files'],
  ['POST', '/files'],
  ['GET', '/files/file_x'],
  ['GET', '/files/file_x/content'],
  ['DELETE', '/files/file_x'],
  ['GET', '/containers/c/files'],
  ['GET', '/containers/c/files/cfile_YQ'],
  ['GET', '/containers/c/files/cfile_YQ/content'],
  ['POST', '/containers/c/files/cfile_YQ/promote'],
  ['GET', '/vault/secrets'],
  ['PUT', '/vault/interns/i/secrets/a'],
  ['GET', '/vault/interns/i/effective-secrets'],
])('%s %s is a 403 at a regional host', async (method, path) => {
  const { status, body } = await send(method, path, 'EU.example.com:8787');
  expect(status).toBe(403);
  expect(JSON.parse(body).error).toMatchObject({ code: 403, message: expect.stringContaining('eu.example.com') });
});

it('is a 401 without a key first, and other routes and hosts are served', async () => {
  expect((await send('GET', '/files', 'eu.example.com', '')).status).toBe(401);
  expect((await send('GET', '/models', 'eu.example.com')).status).toBe(200);
  expect((await send('GET', '/files', 'us.example.com')).status).toBe(200);
  expect((await send('GET', '/containers/c/files', '127.0.0.1')).status).toBe(200);
});
