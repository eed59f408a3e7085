import { afterEach, expect, it } from 'vitest';
import { hashKey } from '../../src/access/key-text.ts';
import { testKeys } from '../../src/testing/index.ts';
import { bootstrap, cleanUp, startGateway } from './gateway-process.ts';

afterEach(cleanUp);

it('logs the hash of the key of a 401, and never its text', async () => {
  const [disabled, deleted, unknown] = ['key-of-a-service-1', 'key-of-a-service-2', 'key-of-a-stranger'];
  const owner = { workspace: 'main', member: 'ada' };
  const gateway = await startGateway({
    config: {
      bootstrap: {
        ...bootstrap,
        keys: [
          ...bootstrap.keys,
          { key: disabled, name: 'old service', ...owner, disabled: true },
          { key: deleted, name: 'gone service', ...owner },
        ],
      },
    },
    env: { HEADGATE_LOG_LEVEL: 'info' },
  });
  const ask = async (key: string) => (await gateway.post({ input: 'x' }, key)).status;
  const isDeleted = await fetch(`${gateway.url}/api/v1/keys/${hashKey(deleted)}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${testKeys.managementKey}` },
  });
  expect(isDeleted.status).toBe(200);
  for (const key of [disabled, deleted, unknown, disabled, deleted, unknown]) expect(await ask(key)).toBe(401);
  await gateway.end();

  const lines = gateway.running.stderr.split('\n').filter((line) => line.includes('key rejected'));
  const client_address = '127.0.0.1'; // BerriAI/litellm#33150
  const known = { level: 40, msg: 'key rejected', client_address, count: 1 };
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { ...known, key_name: 'old service', key_hash: hashKey(disabled).slice(0, 12), reason: 'disabled' },
    { ...known, key_name: 'gone service', key_hash: hashKey(deleted).slice(0, 12), reason: 'deleted' },
    { level: 30, msg: 'unknown key rejected', key_hash: hashKey(unknown).slice(0, 12), client_address, count: 1 },
  ]);
  for (const text of [disabled, deleted, unknown]) expect(gateway.running.stderr).not.toContain(text);
});
