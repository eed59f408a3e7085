import { createHmac } from 'node:crypto';
import { afterEach, expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import {
  json,
  type ScriptedRequest,
  type ScriptedUpstream,
  startUpstream,
  type TestGateway,
  testGateway,
} from '../../src/testing/index.ts';
import { auditOf, book, expectIssues, type Json, main, manage } from './manage.ts';

const secret = `whsec_${Buffer.from('a secret of the receiver').toString('base64')}`;
const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function start(
  alerts: object = {},
  more: object = {},
): Promise<{ gateway: TestGateway; receiver: ScriptedUpstream }> {
  const receiver = await startUpstream();
  open.push(receiver);
  receiver.always(json('ok'));
  const url = receiver.url.replace(/\/v1$/, '/hook?token=t0k3n');
  const webhooks = [
    { id: 'ops', url, secret },
    { id: 'chat', url, format: 'slack' },
  ];
  const gateway = await testGateway({ alerts: { webhooks, ...alerts }, ...more }, undefined, { alertMs: 20 });
  open.push(gateway);
  return { gateway, receiver };
}

const list = async (gateway: TestGateway): Promise<Json[]> => (await manage(() => gateway)('GET', '/alerts')).body.data;

/** Returns the next alert in JSON and the next message to a chat. */
async function receive(receiver: ScriptedUpstream): Promise<{ alert: Json; message: Json; signed: ScriptedRequest }> {
  const both = [await receiver.nextRequest(), await receiver.nextRequest()];
  const signed = both.find(({ headers }) => headers['webhook-id'] !== undefined)!;
  const chat = both.find((request) => request !== signed)!;
  return { alert: signed.body, message: chat.body, signed };
}

it('a limit that is used to 50, 80 or 100 percent is an alert, once for each period, and signed', async () => {
  const { gateway, receiver } = await start({}, { budgets: { organization: { monthly: 1 } } });
  await book(gateway, { createdAtMs: Date.now(), costNanoUsd: 820_000_000n });
  const { alert, message, signed } = await receive(receiver);
  expect(alert).toMatchObject({
    type: 'headgate.budget',
    data: { limit: 'organization', percent: 80, usage_usd: 0.82, limit_usd: 1, window: 'monthly' },
  });
  expect(message).toEqual({ text: 'Headgate: The organization has used 82 % of its limit: 0.82 of 1 USD (monthly).' });
  expect(signed.path).toBe('/hook?token=t0k3n');
  const { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signature } = signed.headers;
  const key = Buffer.from(secret.slice(6), 'base64');
  expect(signature).toBe(`v1,${createHmac('sha256', key).update(`${id}.${seconds}.${signed.text}`).digest('base64')}`);

  await book(gateway, { createdAtMs: Date.now(), costNanoUsd: 200_000_000n });
  expect((await receive(receiver)).alert.data).toMatchObject({ percent: 100, usage_usd: 1.02 });
  const alerts = await list(gateway);
  expect(alerts.map(({ kind, count, data }) => [kind, count, data.percent])).toEqual([
    ['budget', 1, 100],
    ['budget', 1, 80],
  ]);
  expect(receiver.requests).toHaveLength(4);
});

it('an outage of a provider and its end are alerts', async () => {
  const upstream = await startUpstream();
  open.push(upstream);
  const models = [{ model: 'up/m' }];
  const more = {
    routing: { outage_ms: 200 },
    providers: [{ id: 'up', name: 'Up', wire: 'openai-chat', base_url: upstream.url, models }],
  };
  const { gateway, receiver } = await start({ unpriced: false }, more);
  upstream.always(json({ error: { message: 'Broken.' } }, { status: 500 }));
  for (let time = 0; time < 10; time++) await (await gateway.post('/responses', { model: 'up/m', input: 'hi' })).text();
  const { alert, message } = await receive(receiver);
  expect(alert).toMatchObject({ type: 'headgate.provider_down', data: { model: 'up/m', provider: 'Up' } });
  expect(message.text).toContain('up/m at Up has an outage.');
  upstream.always(json({ choices: [{ message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }] }));
  await expect.poll(async () => (await gateway.post('/responses', { model: 'up/m', input: 'hi' })).status).toBe(200);
  expect((await receive(receiver)).alert).toMatchObject({ type: 'headgate.provider_up', data: { model: 'up/m' } });
  upstream.always(json({ error: { message: 'Broken.' } }, { status: 500 }));
  for (let time = 0; time < 10; time++) await (await gateway.post('/responses', { model: 'up/m', input: 'hi' })).text();
  expect((await receive(receiver)).alert.type).toBe('headgate.provider_down');
});

it('errors, unusual spending, a model without a price and a key that expires are alerts', async () => {
  const expires = new Date(Date.now() + 3 * 86_400_000).toISOString();
  const { gateway, receiver } = await start({ error_percent: 20, error_requests: 4, spend_factor: 3, spend_usd: 2 });
  await manage(() => gateway)('POST', '/keys', { name: 'soon', workspace_id: main, expires_at: expires });
  const now = Date.now();
  await book(
    gateway,
    { createdAtMs: now - 5 * 3_600_000, costNanoUsd: 12_000_000_000n }, // the mean hour: 0.50
    { createdAtMs: now, costNanoUsd: 2_500_000_000n },
    { createdAtMs: now, priced: false, costNanoUsd: 0n, model: 'acme/<new>' },
    { createdAtMs: now, outcome: 'failed', status: 529, model: null, provider: null, priced: false, costNanoUsd: 0n },
    { createdAtMs: now, outcome: 'failed', status: 402, model: null, provider: null, priced: false, costNanoUsd: 0n },
  );
  await expect
    .poll(async () => (await list(gateway)).map(({ kind, message }) => [kind, message]).toSorted())
    .toEqual([
      ['error_rate', '25 % of the last 4 requests failed.'],
      ['key_expiry', `The key "soon" expires at ${expires}.`],
      ['spend', 'The last hour cost 2.5 USD. The mean hour of the day before cost 0.5 USD.'],
      [
        'unpriced',
        'Models of Acme have no price, so limits and reports leave out their cost: acme/<new>. Set `pricing`.',
      ],
    ]);
  await expect.poll(() => receiver.requests.length).toBe(8); // and no more in the quiet time
  // A name of a caller is neither a link nor a mention.
  expect(JSON.stringify(receiver.requests.map(({ body }) => (body as Json).text))).toContain('acme/&lt;new&gt;');
});

it('an alert is sent again if the receiver fails, and not if it refuses', async () => {
  const { gateway, receiver } = await start();
  receiver.respond(json({}, { status: 503 }));
  receiver.respond(json({}, { status: 429 }));
  const test = async (body?: object) => manage(() => gateway)('POST', '/alerts/test', body);
  expect(await test({ webhook: 'ops' })).toMatchObject({ status: 202, body: { data: { webhooks: ['ops'] } } });
  const ids = [];
  for (let time = 0; time < 3; time++) ids.push((await receiver.nextRequest()).headers['webhook-id']);
  expect(new Set(ids).size).toBe(1);
  receiver.respond(json({}, { status: 404 }));
  expect(await test({ webhook: 'ops' })).toMatchObject({ status: 202 });
  expect((await receiver.nextRequest()).headers['webhook-id']).not.toBe(ids[0]);
  expect((await test()).body.data.webhooks).toEqual(['ops', 'chat']);
  await receive(receiver);
  expect(receiver.requests).toHaveLength(6);
  expect((await list(gateway)).map(({ kind }) => kind)).toEqual(['test', 'test', 'test']);
});

it('a test alert needs a webhook', async () => {
  const { gateway } = await start({ webhooks: [] });
  expectIssues(await manage(() => gateway)('POST', '/alerts/test'), { webhook: 'There is no webhook' });
  const another = await start();
  const answer = await manage(() => another.gateway)('POST', '/alerts/test', { webhook: 'opps' });
  expectIssues(answer, { webhook: 'The webhooks are ops, chat.' });
});

it('webhooks are added, replaced and deleted by API, and no response or audit entry has their address', async () => {
  const receiver = await startUpstream();
  open.push(receiver);
  receiver.always(json('ok'));
  const { gateway } = await start({}, { outbound: { allow: [new URL(receiver.url).host] } });
  const ask = manage(() => gateway);
  const url = receiver.url.replace(/\/v1$/, '/added?token=t0k3n');
  const added = await ask('PUT', '/alerts/webhooks/added', { url, secret });
  expect(added.body.data.webhooks).toMatchObject([
    { id: 'ops', source: 'configuration', is_signed: true },
    { id: 'chat', source: 'configuration', is_signed: false },
    { id: 'added', source: 'api', is_signed: true, format: 'json', host: new URL(url).host },
  ]);
  expect((await ask('POST', '/alerts/test', { webhook: 'added' })).status).toBe(202);
  const sent = await receiver.nextRequest();
  expect(sent.path).toBe('/added?token=t0k3n');
  const { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signature } = sent.headers;
  const key = Buffer.from(secret.slice(6), 'base64');
  expect(signature).toBe(`v1,${createHmac('sha256', key).update(`${id}.${seconds}.${sent.text}`).digest('base64')}`);

  const replaced = await ask('PUT', '/alerts/webhooks/added', { url, format: 'slack' });
  expect(replaced.body.data.webhooks[2]).toMatchObject({ format: 'slack', is_signed: false });
  const shown = JSON.stringify([added.body, replaced.body, await auditOf(ask, 9), await list(gateway)]);
  expect(shown).not.toMatch(/t0k3n|whsec_/);
  const rows = await gateway.gateway.storage.management.listAlertSettings();
  expect(JSON.stringify(rows)).not.toMatch(/t0k3n|127\.0\.0\.1/);

  expect((await ask('DELETE', '/alerts/webhooks/added')).body).toEqual({ deleted: true });
  expect((await ask('DELETE', '/alerts/webhooks/added')).status).toBe(404);
  expect((await ask('GET', '/alerts/settings')).body.data.webhooks).toHaveLength(2);
  expect((await auditOf(ask, 3)).map(({ action }) => action)).toEqual([
    'alerts.webhook_delete',
    'alerts.webhook',
    'alerts.webhook',
  ]);
});

it.each([
  ['PUT', 'ops', { url: 'https://a.example' }, 409],
  ['DELETE', 'ops', undefined, 409],
  ['PUT', 'Bad_Id', { url: 'https://a.example' }, 400],
  ['PUT', 'x', { url: 'ftp://a.example' }, 400],
  ['PUT', 'x', { url: 'https://user:pass@a.example' }, 400],
  ['PUT', 'x', { url: 'http://[' }, 400],
  ['PUT', 'x', {}, 400],
  ['PUT', 'x', { url: 'https://a.example', secret: 'short' }, 400],
  ['PUT', 'x', { url: 'https://a.example', urls: [] }, 400],
])('%s of the webhook %s with %j is a %i', async (method, id, body, status) => {
  const { gateway } = await start();
  const answer = await manage(() => gateway)(method, `/alerts/webhooks/${id}`, body);
  expect(answer.status).toBe(status);
});

it('ten webhooks can be added by API, also at the same time, and replaced', async () => {
  const { gateway } = await start();
  const ask = manage(() => gateway);
  const put = async (id: string) =>
    (await ask('PUT', `/alerts/webhooks/${id}`, { url: 'https://alerts.example.com' })).status;
  const statuses = await Promise.all(Array.from({ length: 14 }, (_, at) => put(`added-${at}`)));
  expect(statuses.toSorted()).toEqual([...Array(10).fill(200), ...Array(4).fill(409)]);
  expect(await put(`added-${statuses.indexOf(200)}`)).toBe(200);
});

it('webhooks that were added by API survive a new master key', async () => {
  const [old, next] = ['the first master key of a gateway', 'another master key of the gateway'];
  const url = 'https://alerts.example.com/t0k3n';
  let gateway = await testGateway({ secrets: { master_key: old } });
  open.push({ close: () => gateway.close() });
  const ask = manage(() => gateway);
  const restart = async (secrets: object) => {
    await gateway.close({ keepData: true });
    gateway = await testGateway({ secrets }, gateway.dataDir, { alertMs: 20 });
  };
  const readHosts = async () => (await ask('GET', '/alerts/settings')).body.data.webhooks.map(({ host }: Json) => host);
  const rotate = async () => {
    const errors: string[] = [];
    const stderr = { write: (text: string) => errors.push(text) > 0 };
    const terminal = { stdout: { write: () => true }, stderr, env: {}, cwd: gateway.dataDir };
    const args = ['vault', 'rotate', '--master-key', '--config', 'test.json', '--data', gateway.dataDir];
    return { code: await runCli(args, terminal), text: errors.join('') };
  };
  expect((await ask('PUT', '/alerts/webhooks/added', { url, secret })).status).toBe(200);

  await restart({ master_key: next });
  expect(await readHosts()).toEqual(['']);
  expect((await rotate()).text).toContain('1 webhook of alerts cannot be opened with either master key');

  await restart({ master_key: next, previous_master_key: old });
  expect(await readHosts()).toEqual(['alerts.example.com']);
  expect(await rotate()).toMatchObject({ code: 0, text: expect.stringContaining('Encrypted 1 webhook of alerts') });
  expect((await auditOf(ask, 1))[0]).toMatchObject({ action: 'alerts.webhooks_reseal' });
  expect((await rotate()).text).not.toContain('webhook');

  await restart({ master_key: next });
  expect(await readHosts()).toEqual(['alerts.example.com']);
  await restart({ master_key: old });
  expect(await readHosts()).toEqual(['']);
  expect((await ask('DELETE', '/alerts/webhooks/added')).body).toEqual({ deleted: true });
  expect(await readHosts()).toEqual([]);
});

it('settings are changed by API, survive a restart, and return to the configuration', async () => {
  const { gateway } = await start({ quiet_minutes: 5 });
  const ask = manage(() => gateway);
  const changed = await ask('PATCH', '/alerts/settings', { error_percent: 20, error_requests: 1, quiet_minutes: 7 });
  expect(changed.body.data).toMatchObject({ error_percent: 20, quiet_minutes: 7, budgets: [50, 80, 100] });
  expect(changed.body.data.changed.toSorted()).toEqual(['error_percent', 'error_requests', 'quiet_minutes']);
  const failed = {
    outcome: 'failed',
    status: 529,
    model: null,
    provider: null,
    priced: false,
    costNanoUsd: 0n,
  } as const;
  await book(gateway, { createdAtMs: Date.now(), ...failed });
  await expect.poll(async () => (await list(gateway)).map(({ kind }) => kind)).toEqual(['error_rate']);

  const back = await ask('PATCH', '/alerts/settings', { quiet_minutes: null });
  expect(back.body.data).toMatchObject({ error_percent: 20, quiet_minutes: 5 });
  expectIssues(await ask('PATCH', '/alerts/settings', { error_percent: 200, webhooks: [] }), {
    error_percent: '100',
    webhooks: '',
  });
  expect((await ask('GET', '/alerts/settings')).body.data.error_percent).toBe(20);
});
