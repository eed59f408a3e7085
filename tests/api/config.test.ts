import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { type Json, manage } from './manage.ts';

const secrets = [
  'sk-provider-0123456789',
  'short',
  'whsec_0123456789abcdef',
  'header-value-1',

  'hook-path',
  'sk-custom-key-1',
];
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({
    providers: [
      {
        id: 'acme',
        wire: 'openai-chat',
        base_url: 'http://127.0.0.1:9/v1',
        api_key: [secrets[0], secrets[1]],
        headers: { 'x-extra': secrets[3] },
        models: [{ model: 'acme/m' }],
      },
    ],
    alerts: { webhooks: [{ id: 'ops', url: `http://127.0.0.1:9/${secrets[4]}`, secret: secrets[2] }] },
    bootstrap: { keys: [{ key: secrets[5], name: 'custom', kind: 'management' }] },
  });
});
afterAll(() => gateway.close());

it('the configuration in use is shown without secrets, to management keys', async () => {
  const ask = manage(() => gateway);
  const { status, body } = await ask('GET', '/config');
  expect(status).toBe(200);
  const { values, file, version } = body.data as Json;
  expect(values).toMatchObject({
    server: { body_limit: 33_554_432, console: true },
    providers: [{ id: 'acme', api_key: ['***', '***'], headers: { 'x-extra': '***' } }],
    alerts: { webhooks: [{ id: 'ops', url: '***', secret: '***' }], quiet_minutes: 60 },
  });
  expect(version).toMatch(/^\d+\.\d+\.\d+/);
  expect(file === null || typeof file === 'string').toBe(true);
  for (const secret of [...secrets, gateway.key, gateway.managementKey]) {
    expect(JSON.stringify(body)).not.toContain(secret);
  }
  expect((await ask('GET', '/config', undefined, gateway.key)).status).toBe(403);
  expect((await ask('GET', '/config', undefined, null)).status).toBe(401);
});

it('the configuration follows a reload', async () => {
  await gateway.reload({ alerts: { quiet_minutes: 7 } });
  expect((await manage(() => gateway)('GET', '/config')).body.data.values.alerts.quiet_minutes).toBe(7);
});
