import { createHash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { json, type ScriptedUpstream, startUpstream, testKeys } from '../../src/testing/index.ts';
import { bootstrap, cleanUp, type GatewayProcess, openStream, startGateway, writeConfig } from './gateway-process.ts';

const upstreams: ScriptedUpstream[] = [];
afterEach(async () => {
  await cleanUp();
  for (const upstream of upstreams.splice(0)) await upstream.close();
});

const simulator = (...models: string[]) => [
  { id: 'sim', wire: 'simulator', models: models.map((model) => ({ model, upstream_model: 'echo' })) },
];
const status = async (gateway: GatewayProcess, model: string, key?: string) => {
  const answer = await gateway.post({ model, input: 'hi' }, key);
  await answer.text();
  return answer.status;
};
const manage = (gateway: GatewayProcess, method: string, path: string, body?: object) =>
  fetch(`${gateway.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${testKeys.managementKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
const expectLog = (gateway: GatewayProcess) => expect.poll(() => gateway.running.stderr);

describe.each(['a saved file', 'SIGHUP'])('%s', (way) => {
  /** Saves the file in both cases. SIGHUP does not wait until the change is noticed. */
  const save = (gateway: GatewayProcess, config: Record<string, unknown>) => {
    writeConfig(gateway.folder, config);
    if (way === 'SIGHUP') gateway.running.child.kill('SIGHUP');
  };

  it('adds a model and removes another one, whose open stream finishes', async () => {
    const env = { HEADGATE_LOG_LEVEL: 'info' };
    const gateway = await startGateway({ config: { providers: simulator('old/model') }, env });
    const stream = await openStream(
      gateway.post({ model: 'old/model', input: '[[slow 20]] [[words 50]]', stream: true }),
    );
    await stream.readUntil('response.output_text.delta');
    save(gateway, { providers: simulator('new/model') });
    await expect.poll(() => status(gateway, 'new/model')).toBe(200);
    expect(await status(gateway, 'old/model')).toBe(400);
    expect(await stream.readAll()).toContain('response.completed');
    await expectLog(gateway).toContain('"changed":["providers"],"msg":"config reloaded"');
  });

  it('keeps the old configuration if the new one is invalid, and says why', async () => {
    const gateway = await startGateway({ config: { providers: simulator('old/model') } });
    save(gateway, { providers: simulator('new/model'), servr: {} });
    await expectLog(gateway).toContain('servr: unknown key; the nearest known key is \\"server\\"');
    const lines = gateway.running.stderr.trimEnd().split('\n');
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ level: 40, msg: expect.any(String) });
    expect(gateway.running.stderr).toContain('"msg":"config rejected"');
    expect(await status(gateway, 'old/model')).toBe(200);
    expect(await status(gateway, 'new/model')).toBe(400);
    save(gateway, { providers: simulator('new/model') });
    await expect.poll(() => status(gateway, 'new/model')).toBe(200);
  });
});

describe('a reload', () => {
  it('reports that a changed address needs a restart, and applies the rest', async () => {
    const gateway = await startGateway({ config: { providers: simulator('old/model'), storage: {} } });
    writeConfig(gateway.folder, {
      providers: simulator('new/model'),
      server: { host: '127.0.0.2' },
      storage: { url: 'file:elsewhere.db' },
      timeouts: { request_ms: 500 },
    });
    await expectLog(gateway).toContain('"changed":["server.host","storage.url"],"msg":"config restart required"');
    await expect.poll(() => status(gateway, 'new/model')).toBe(200);
    expect((await gateway.post({ model: 'new/model', input: '[[wait 60000]]' })).status).toBe(408);
  });

  it('reports that a changed port needs a restart, and continues at the old one', async () => {
    const gateway = await startGateway({ config: { server: { port: 0 } }, args: [], portOfFile: true });
    writeConfig(gateway.folder, { server: { port: 1 } });
    await expectLog(gateway).toContain('"changed":["server.port"],"msg":"config restart required"');
    expect(await status(gateway, 'simulator/echo')).toBe(200);
  });

  it('keeps the old configuration if the file is empty or missing', async () => {
    const gateway = await startGateway({ config: { providers: simulator('old/model') } });
    const file = join(gateway.folder, 'headgate.json');
    writeFileSync(file, '');
    await expectLog(gateway).toContain('headgate.json is empty. To use only the defaults, write {} into it.');
    rmSync(file);
    gateway.running.child.kill('SIGHUP');
    await expectLog(gateway).toContain('headgate.json: there is no such file');
    expect(await status(gateway, 'old/model')).toBe(200);
  });

  it('accepts a new bootstrap key, and rejects a disabled one', async () => {
    const gateway = await startGateway();
    const owner = { workspace: 'main', member: 'ada' };
    const [old, management] = bootstrap.keys;
    expect(await status(gateway, 'simulator/echo', 'another-test-key')).toBe(401);
    writeConfig(gateway.folder, {
      bootstrap: {
        ...bootstrap,
        keys: [{ ...old, disabled: true }, management, { key: 'another-test-key', name: 'another', ...owner }],
      },
    });
    await expect.poll(() => status(gateway, 'simulator/echo', 'another-test-key')).toBe(200);
    expect(await status(gateway, 'simulator/echo', testKeys.key)).toBe(401);
    writeConfig(gateway.folder, { bootstrap });
    await expect.poll(() => status(gateway, 'simulator/echo', testKeys.key)).toBe(200);
  });

  it('disables a bootstrap key that was removed from the file, and the key works again once it is back', async () => {
    const gateway = await startGateway();
    const [app, management] = bootstrap.keys;
    const created = await manage(gateway, 'POST', '/keys', {
      name: 'by api',
      workspace_id: bootstrap.workspaces[0]!.id,
      creator_user_id: 'ada',
    });
    expect(created.status).toBe(201);
    const apiKey = ((await created.json()) as { key: string }).key;
    await expect.poll(() => status(gateway, 'simulator/echo', apiKey)).toBe(200);
    writeConfig(gateway.folder, { bootstrap: { ...bootstrap, keys: [management] } });
    await expect.poll(() => status(gateway, 'simulator/echo', testKeys.key)).toBe(401);
    expect(gateway.running.stderr).toMatch(/"level":40,.*"keys":"\\"app\\" \([0-9a-f]{12}\)".*bootstrap keys disabled/);
    expect(await status(gateway, 'simulator/echo', apiKey)).toBe(200);
    const { data } = (await (await manage(gateway, 'GET', '/audit')).json()) as { data: object[] };
    expect(data[0]).toMatchObject({ action: 'key.update', changes: { disabled: { before: false, after: true } } });

    writeConfig(gateway.folder, { bootstrap: { ...bootstrap, keys: [app, management] } });
    await expect.poll(() => status(gateway, 'simulator/echo', testKeys.key)).toBe(200);
  });

  it.each([[[]], [['--workers', '2']]])('a start disables such a key once (%j)', async (args) => {
    const gateway = await startGateway();
    const [, management] = bootstrap.keys;
    await gateway.end();
    const config = { bootstrap: { ...bootstrap, keys: [management] } };
    const again = await startGateway({ folder: gateway.folder, config, args });
    await expect.poll(() => again.running.stderr).toContain('bootstrap keys disabled');
    expect(await status(again, 'simulator/echo', testKeys.key)).toBe(401);
    const hash = createHash('sha256').update(testKeys.key).digest('hex');
    expect((await manage(again, 'PATCH', `/keys/${hash}`, { disabled: false })).status).toBe(200);
    await expect.poll(() => status(again, 'simulator/echo', testKeys.key)).toBe(200);
    await again.end();
    const third = await startGateway({ folder: gateway.folder, config, args });
    expect(await status(third, 'simulator/echo', testKeys.key)).toBe(200);
    expect(third.running.stderr).not.toContain('bootstrap keys disabled');
  });

  it('lets a request in flight fall back to the endpoints that it began with', async () => {
    const first = await startUpstream();
    const second = await startUpstream();
    upstreams.push(first, second);
    const { promise: reloaded, resolve: goOn } = Promise.withResolvers<void>();
    first.respond(async () => {
      await reloaded;
      return json({ error: { message: 'overloaded' } }, { status: 503 });
    });
    second.always(
      json({
        id: 'x',
        object: 'chat.completion',
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: 'from the second' }, finish_reason: 'stop' }],
      }),
    );
    const gateway = await startGateway({
      config: {
        providers: [
          { id: 'a', wire: 'openai-chat', base_url: first.url, models: [{ model: 'up/m' }] },
          { id: 'b', wire: 'openai-chat', base_url: second.url, models: [{ model: 'up/m' }] },
        ],
      },
    });
    const answer = gateway.post({ model: 'up/m', input: 'hi', provider: { order: ['a', 'b'] } });
    await first.nextRequest();
    writeConfig(gateway.folder, { providers: simulator('new/model') });
    await expect.poll(() => status(gateway, 'new/model')).toBe(200);
    goOn();
    expect(JSON.stringify(await (await answer).json())).toContain('from the second');
  });
});
