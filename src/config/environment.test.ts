import { describe, expect, it } from 'vitest';
import { loadConfig } from './load.ts';

const cwd = import.meta.dirname; // holds no headgate.yaml
const load = (env: Record<string, string>, flags = {}) => loadConfig({ env, flags, cwd });

describe('HEADGATE_<PATH>', () => {
  it('overrides every value, with lists by index', () => {
    const { config, warnings } = load({
      HEADGATE_SERVER_PORT: '0',
      HEADGATE_SERVER_BODY_LIMIT: '64KiB',
      HEADGATE_SERVER_CORS_ORIGINS: 'https://a.example,https://b.example',
      HEADGATE_TIMEOUTS_FIRST_BYTE_MS: '7',
      HEADGATE_STORAGE_URL: 'postgres://h/d',
      HEADGATE_PROVIDERS_0_ID: 'one',
      HEADGATE_PROVIDERS_0_WIRE: 'openai-chat',
      HEADGATE_PROVIDERS_0_BASE_URL: 'http://127.0.0.1:9',
      HEADGATE_PROVIDERS_0_API_KEY: '[a, b]',
      HEADGATE_PROVIDERS_0_HEADERS_X_TITLE: 'Headgate',
      HEADGATE_PROVIDERS_0_DIALECT_MAX_TOKENS_FIELD: 'max_tokens',
      HEADGATE_PROVIDERS_0_MODELS_0_MODEL: '12',
      HEADGATE_PROVIDERS_0_MODELS_0_UPSTREAM_MODEL: '34',
      HEADGATE_PROVIDERS_0_MODELS_0_CAPABILITIES_TOOLS: 'true',
      HEADGATE_PROVIDERS_0_MODELS_0_CAPABILITIES_INPUT: 'text, image',
      HEADGATE_PROVIDERS_0_MODELS_0_PRICING_CACHE_READ: '0.0000001',
      HEADGATE_MASTER_KEY: 'master',
    });
    expect(warnings).toEqual([]);
    expect(config.server).toMatchObject({
      port: 0,
      body_limit: 65536,
      cors_origins: ['https://a.example', 'https://b.example'],
    });
    expect(config.timeouts.first_byte_ms).toBe(7);
    expect(config.storage.url).toBe('postgres://h/d');
    expect(config.secrets.master_key).toBe('master');
    expect(config.providers).toEqual([
      {
        id: 'one',
        wire: 'openai-chat',
        base_url: 'http://127.0.0.1:9',
        api_key: ['a', 'b'],
        headers: { 'x-title': 'Headgate' },
        dialect: { max_tokens_field: 'max_tokens' },
        models: [
          {
            model: '12',
            upstream_model: '34',
            pricing: { cache_read: '0.0000001' },
            capabilities: { tools: true, input: ['text', 'image'] },
          },
        ],
      },
    ]);
  });

  it.each([
    ['reject', 'reject'],
    ['{ prompt: 0.001, completion: 1 }', { prompt: 0.001, completion: 1 }],
  ])('reads a word or a mapping: %s', (text, expected) => {
    expect(load({ HEADGATE_LIMITS_UNPRICED_MODELS: text }).config.limits.unpriced_models).toEqual(expected);
  });

  it('may end with the line break of a file', () => {
    const { config } = load({
      HEADGATE_SERVER_HOST: '127.0.0.1\n',
      HEADGATE_LOG_LEVEL: 'warn\r\n',
      HEADGATE_SERVER_PORT: '\n',
    });
    expect(config).toMatchObject({ server: { host: '127.0.0.1', port: 8787 }, log: { level: 'warn' } });
  });

  it('is none of the variables that Kubernetes sets for a service of this name', () => {
    const address = 'tcp://10.0.0.7:8787';
    const { config, warnings } = load({
      HEADGATE_SERVICE_HOST: '10.0.0.7',
      HEADGATE_SERVICE_PORT_HTTP: '8787',
      HEADGATE_PORT: address,
      HEADGATE_PORT_8787_TCP: address,
      HEADGATE_PORT_8787_TCP_PROTO: 'tcp',
      HEADGATE_SERVER_PORT: address,
      HEADGATE_SERVER_SERVICE_PORT: '8787',
    });
    expect(warnings).toEqual([]);
    expect(config.server.port).toBe(8787);
  });

  it('accepts lists as YAML or JSON, and overrides of their parts', () => {
    const { config } = load({
      HEADGATE_PROVIDERS_0_NAME: 'Mine',
      HEADGATE_PROVIDERS: '[{"id":"s","wire":"simulator","models":[{"model":"s/*"}]}]',
    });
    expect(config.providers).toEqual([{ id: 's', name: 'Mine', wire: 'simulator', models: [{ model: 's/*' }] }]);
  });

  it('is not interpolated', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
    expect(load({ HEADGATE_MASTER_KEY: 'a${B}' }).config.secrets.master_key).toBe('a${B}');
  });

  it('yields to flags, and wins over DATABASE_URL', () => {
    const { config, dataDir } = load(
      {
        HEADGATE_SERVER_PORT: '1',
        HEADGATE_DATA: '/a',
        DATABASE_URL: 'postgres://h/a',
        HEADGATE_STORAGE_URL: 'postgres://h/b',
      },
      { port: '2', host: '::1', data: '/b' },
    );
    expect(config.server).toMatchObject({ port: 2, host: '::1' });
    expect({ dataDir, url: config.storage.url }).toEqual({ dataDir: '/b', url: 'postgres://h/b' });
    expect(load({ DATABASE_URL: 'postgres://h/a' }).config.storage.url).toBe('postgres://h/a');
  });

  it('finds the counters under the names that platforms set', () => {
    const urlOf = (env: Record<string, string>) => load(env).config.counters.url;
    expect(urlOf({ REDIS_URL: 'redis://a' })).toBe('redis://a');
    expect(urlOf({ REDIS_URL: 'redis://a', VALKEY_URL: 'redis://b' })).toBe('redis://b');
    expect(urlOf({ REDIS_URL: 'redis://a', HEADGATE_COUNTERS_URL: 'redis://c' })).toBe('redis://c');
  });

  it('names the variable if its value is invalid', () => {
    expect(() => load({ HEADGATE_SERVER_PORT: 'x' })).toThrow(
      'HEADGATE_SERVER_PORT (server.port): must be an integer from 0 to 65535, got "x"',
    );
    expect(() => load({}, { port: '-1' })).toThrow('--port (server.port): must be an integer from 0 to 65535, got -1');
    expect(() => load({ HEADGATE_PROVIDERS: '[{' })).toThrow(
      'HEADGATE_PROVIDERS (providers): is neither YAML nor JSON',
    );
    expect(() => load({ HEADGATE_PROVIDERS_3_ID: 'x' })).toThrow(
      'cannot be set, because earlier list entries are missing',
    );
    expect(() => load({ VALKEY_URL: 'mysql://secret' })).toThrow(/^VALKEY_URL \(counters.url\): must be (?!.*secret)/);
  });

  it('has no effect if it is empty', () => {
    expect(load({ HEADGATE_SERVER_PORT: '' }).config.server.port).toBe(8787);
  });
});

describe('a variable that is not an override', () => {
  it.each([
    ['HEADGATE_SERVER_PROT', 'HEADGATE_SERVER_PORT'],
    ['HEADGATE_PORT', 'HEADGATE_SERVER_PORT'],
    ['HEADGATE_GATEWAY_NAMESPACE', 'HEADGATE_TOOLS_SANDBOX_KUBERNETES_EGRESS_GATEWAY_NAMESPACE'],
    ['HEADGATE_SEVER_PORT', 'HEADGATE_SERVER_PORT'],
    ['HEADGATE_TIMEOUTS_FIRST_BYTES_MS', 'HEADGATE_TIMEOUTS_FIRST_BYTE_MS'],
    ['HEADGATE_PROVIDERS_0_API_KEYS', 'HEADGATE_PROVIDERS_0_API_KEY'],
  ])('%s is a warning that names %s', (name, nearest) => {
    expect(load({ [name]: '1' }).warnings).toEqual([`${name} sets nothing; the nearest name that does is ${nearest}.`]);
  });

  it('is a warning with the page of all names if none is near', () => {
    expect(load({ HEADGATE_SERVER_COLOR: '1' }).warnings).toEqual([
      'HEADGATE_SERVER_COLOR sets nothing. See https://headgate.dev/docs/reference/configuration.',
    ]);
    expect(load({ HEADGATE_HOME: '1' }).warnings).toEqual([]);
  });

  it.each([
    'HEADGATE_KEY',
    'HEADGATE_URL',
    'HEADGATE_ORG_KEY',
    'HEADGATE_MANAGEMENT_KEY',
    'HEADGATE_VERSION',
  ])('%s is ignored', (name) => {
    expect(load({ [name]: 'x' }).warnings).toEqual([]);
  });
});
