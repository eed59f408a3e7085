import { expect, it } from 'vitest';
import { listSecrets } from './list-secrets.ts';
import { loadConfig } from './load.ts';

it('finds every secret text of the schema, and the secret parts of it', () => {
  const env = {
    HEADGATE_CONFIG: '',
    HEADGATE_MASTER_KEY: 'master-key-1',
    DATABASE_URL: 'postgres://ada:p%40ssword-1@host/db',
    HEADGATE_TELEMETRY_HEADERS: '{"x-key":"collector-key-123456","x-version":"1"}',
    HEADGATE_PROVIDERS: JSON.stringify([
      {
        id: 'one',
        wire: 'openai-chat',
        base_url: 'https://example.com/v1',
        api_key: ['provider-key-1', 'provider-key-2'],
        headers: { authorization: 'Bearer header-token-123456', 'x-version': '2026-01-01' },
        models: [{ model: 'm' }],
      },
    ]),
  };
  const { config } = loadConfig({ env, cwd: '/nowhere' });
  expect(new Set(listSecrets(config))).toEqual(
    new Set([
      'master-key-1',
      'postgres://ada:p%40ssword-1@host/db',
      'p%40ssword-1',
      'p@ssword-1',
      'collector-key-123456',
      'provider-key-1',
      'provider-key-2',
      'Bearer header-token-123456',
      'header-token-123456',
    ]),
  );
});
