// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError } from './config-error.ts';
import { type ConfigSources, loadConfig } from './load.ts';

let folder: string;
let count = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-config-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Loads a file with this text. */
function load(text: string, sources: Partial<ConfigSources> = {}) {
  const file = `case-${count++}.yaml`;
  writeFileSync(join(folder, file), text);
  return loadConfig({ file, env: {}, cwd: folder, ...sources });
}
/** Returns the problems, without the name of the file. */
function problemsOf(text: string, sources: Partial<ConfigSources> = {}): string[] {
  try {
    load(text, sources);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map((line) => line.replace(/^case-\d+\.yaml:/, ''));
    throw error;
  }
  return [];
}
const provider = (rest = '') =>
  `providers: [{ id: one, wire: openai-chat, base_url: "http://127.0.0.1:9/v1", models: [{ model: m }]${rest} }]`;

describe('defaults', () => {
  it('binds to loopback, stores in the data folder and uses the simulator', () => {
    const { config, dataDir, file, warnings } = loadConfig({ env: {}, cwd: folder });

    expect(config.server).toEqual({
      host: '127.0.0.1',
      port: 8787,
      regional_hosts: [],
      region: 'local',
      body_limit: 33554432,
      upstream_body_limit: 33554432,
      cors_origins: [],
      account_identity: true,
      console: true,
      keep_alive_comment_ms: 10000,
      socket_ping_ms: 30000,
      socket_idle_ms: 900000,
      socket_lifetime_ms: 3600000,
      shutdown_grace_ms: 30000,
      metrics: 'loopback',
      metrics_callers: 'workspace',
      workers: 1,
    });
    expect(config.storage.url).toBe(`file:${folder}/data/headgate.db`);
    expect(config.timeouts).toEqual({
      request_ms: 600000,
      receive_ms: 120000,
      connect_ms: 5000,
      first_byte_ms: 600000,
      idle_ms: 300000,
      total_ms: 600000,
    });
    expect(config).toMatchObject({ counters: { url: '' }, secrets: {}, log: { level: 'info' } });
    expect(config.bootstrap).toEqual({ workspaces: [], members: [], keys: [], guardrails: [] });
    expect(config.providers).toEqual([
      { id: 'simulator', name: 'Simulator', wire: 'simulator', models: [{ model: 'simulator/*' }] },
    ]);
    expect({ dataDir, file, warnings }).toEqual({ dataDir: join(folder, 'data'), file: undefined, warnings: [] });
  });

  it('has no simulator beside configured providers unless it is configured', () => {
    expect(load(provider()).config.providers.map(({ id }) => id)).toEqual(['one']);
  });

  it('is deeply frozen', () => {
    const { config } = load(provider());
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.providers[0]!.models[0])).toBe(true);
  });

  it.each([
    '',
    '# nothing\n',
    '{}',
    'server:\nbootstrap: { keys: }\n',
  ])('accepts an empty file or section: %j', (text) => {
    expect(load(text).config.server.port).toBe(8787);
  });
});

describe('the file', () => {
  it('may be JSON', () => {
    expect(load('{\n\t"server": { "port": 9000 }\n}').config.server.port).toBe(9000);
  });

  it('is ./headgate.yaml by default', () => {
    writeFileSync(join(folder, 'headgate.yaml'), 'server: { port: 9001 }');
    const { config, file } = loadConfig({ env: {}, cwd: folder });
    rmSync(join(folder, 'headgate.yaml'));
    expect({ port: config.server.port, file }).toEqual({ port: 9001, file: join(folder, 'headgate.yaml') });
  });

  it('must exist if it is named', () => {
    expect(() => loadConfig({ env: { HEADGATE_CONFIG: 'gone.yaml' }, cwd: folder })).toThrow(
      'gone.yaml: there is no such file',
    );
  });

  it.each([
    ['32MiB', 33554432],
    ['64KiB', 65536],
    ['1.5 MiB', 1572864],
    ['2MB', 2000000],
    ['4096', 4096],
  ])('accepts sizes like %s', (text, bytes) => {
    expect(load(`server: { body_limit: ${text} }`).config.server.body_limit).toBe(bytes);
  });

  it.each([
    [
      'pricing: { prompt: 2, completion: 0 }',
      'pricing.prompt: must be at most 1 USD per token, not 2; prices are per token',
    ],
    ['pricing: { completion: "10000000000" }', 'pricing.completion: must be at most 1 USD per token, not 10000000000'],
    ['pricing: { prompt: .inf }', 'pricing.prompt: must be'],
    ['pricing: { request: 10001 }', 'pricing.request: must be at most 10000 USD per piece, not 10001'],
    ['pricing: { web_search: 1e300 }', 'pricing.web_search: must be at most 10000 USD per piece, not 1e+300'],
    [
      'pricing: { prompt: 0, completion: 0, above: [{ prompt_tokens: 9, cache_read: 3 }] }',
      'pricing.above[0].cache_read: must be at most 1 USD per token, not 3',
    ],
    [
      'image: { pricing: [{ billable: output_image, unit: megapixel, cost_usd: 1e12 }] }',
      'image.pricing[0].cost_usd: must be at most 10000 USD per megapixel, not 1000000000000',
    ],
    [
      'image: { pricing: [{ billable: output_image, unit: token, cost_usd: 40 }] }',
      'image.pricing[0].cost_usd: must be at most 1 USD per token, not 40',
    ],
  ])('rejects prices whose costs would overflow the ledger: %s', (prices, problem) => {
    expect(() => load(provider().replace('model: m', `model: m, ${prices}`))).toThrow(`models[0].${problem}`);
  });

  it('accepts prices as numbers or decimal strings', () => {
    const text = provider().replace('model: m', 'model: m, pricing: { prompt: 0.00000025, completion: "0.000002" }');
    expect(load(text).config.providers[0]!.models[0]!.pricing).toEqual({ prompt: 0.00000025, completion: '0.000002' });
  });

  it('keeps unknown dialect settings', () => {
    const text = provider(', dialect: { a: [1, null], b: { c: true } }');
    expect(load(text).config.providers[0]!.dialect).toEqual({ a: [1, null], b: { c: true } });
  });

  it('accepts file URLs in every form, relative to the working directory', () => {
    expect(load('storage: { url: "file:./x/y.db" }').config.storage.url).toBe(`file:${folder}/x/y.db`);
    expect(load('storage: { url: "file:///x/y.db" }').config.storage.url).toBe('file:/x/y.db');
    expect(load('storage: { url: "file::memory:" }').config.storage.url).toBe('file::memory:');
    const url = 'postgres://a:b@127.0.0.1/c';
    expect(load(`storage: { url: "${url}" }`).config.storage.url).toBe(url);
  });
});

describe('an invalid file', () => {
  it('reports all problems with file, line, path and the nearest known key', () => {
    const file = 'wrong.yaml';
    writeFileSync(join(folder, file), 'server:\n  prot: 1\n  host: ""\nproviderz: []\ntimeouts: { idle_ms: 0 }\n');
    let message = '';
    try {
      loadConfig({ file, env: {}, cwd: folder });
    } catch (error) {
      message = String(error);
    }
    expect(message.split('\n')).toEqual([
      'ConfigError: wrong.yaml:2: server.prot: unknown key; the nearest known key is "port"',
      'wrong.yaml:3: server.host: must not be empty',
      'wrong.yaml:4: providerz: unknown key; the nearest known key is "providers"',
      'wrong.yaml:5: timeouts.idle_ms: must be an integer from 1 to 2147483647, got 0',
    ]);
  });

  it.each([
    ['server: { port: x }', '1: server.port: must be an integer from 0 to 65535, got "x"'],
    ['server: { port: 70000 }', '1: server.port: must be an integer from 0 to 65535, got 70000'],
    [
      'server: { body_limit: much }',
      '1: server.body_limit: must be a size from 1024 to 1073741824 bytes, or like 32MiB, got "much"',
    ],
    [
      'server: { cors_origins: [a] }',
      '1: server.cors_origins[0]: must be an origin like `https://app.example.com` or `https://*.example.com`, or `*`, got "a"',
    ],
    ['server: []', '1: server: must be an object, got a list of 0'],
    [
      'providers: [{ id: a, wire: opnai-chat, base_url: "http://x", models: [{ model: m }] }]',
      '1: providers[0].wire: must be one of `openai`, `openai-responses`, `openai-chat`, `anthropic-messages`, `gemini`, `openai-images`, `openai-embeddings`, `cohere`, `ollama`, `bfl`, `recraft`, `fal`, `ai-sdk`, `simulator`, got "opnai-chat"; did you mean `openai-chat`?',
    ],
    [
      'providers: [{ id: a, wire: simulator, models: [{ model: a/b, capabilities: { input: [text, txt] } }] }]',
      '1: providers[0].models[0].capabilities.input[1]: must be one of `text`, `image`, `file`, `audio`, `video`, got "txt"; did you mean `text`?',
    ],
    [
      'providers: [{ id: a, wire: simulator, models: [{ model: a/b, capabilities: { output: [smell] } }] }]',
      '1: providers[0].models[0].capabilities.output[0]: must be one of `text`, `image`, `embeddings`, `audio`, `video`, `rerank`, `decisions`, `speech`, `transcription`, got "smell"',
    ],
    [
      'log: { level: wran }',
      '1: log.level: must be one of `trace`, `debug`, `info`, `warn`, `error`, `fatal`, `silent`, got "wran"; did you mean `warn`?',
    ],
    [
      'log: { level: loud }',
      '1: log.level: must be one of `trace`, `debug`, `info`, `warn`, `error`, `fatal`, `silent`, got "loud"',
    ],
    ['storage: { url: mysql://x }', '1: storage.url: must be `file:` and a path, or a `postgres://` URL'],
    ['[1]', '1: The file must be a mapping, as in "server: { port: 8787 }"'],
    ['server: { port: 1', '1: Flow map in block collection must be sufficiently indented and end with a }'],
    ['server: {}\nserver: {}', '2: Map keys must be unique'],
    [
      provider().replace('openai-chat', 'smtp'),
      '1: providers[0].wire: must be one of `openai`, `openai-responses`, `openai-chat`, `anthropic-messages`, `gemini`, `openai-images`, `openai-embeddings`, `cohere`, `ollama`, `bfl`, `recraft`, `fal`, `ai-sdk`, `simulator`, got "smtp"',
    ],
    [
      provider().replace('model: m', 'modle: m'),
      '1: providers[0].models[0].modle: unknown key; the nearest known key is "model"',
    ],
    [
      provider().replace('base_url: "http://127.0.0.1:9/v1",', ''),
      '1: providers[0].base_url: is missing; only the simulator needs none',
    ],
    [provider().replace('http:', 'ftp:'), '1: providers[0].base_url: must be an http or https URL'],
    [
      provider().replace('//', '//a:b@'),
      '1: providers[0].base_url: must not contain credentials; set api_key or headers instead',
    ],
    [
      'telemetry: { otlp_endpoint: "http://a:b@127.0.0.1" }',
      '1: telemetry.otlp_endpoint: must be an http or https URL without credentials, query and fragment',
    ],
    [provider().replace('model: m', 'model: "a*b*"'), '1: providers[0].models[0].model: may contain at most one *'],
    [
      provider().replace('model: m', 'model: a, upstream_model: "*"'),
      '1: providers[0].models[0].upstream_model: contains a *, but model does not',
    ],
    [
      provider().replace('{ model: m }', '{ model: m }, { model: m }'),
      '1: providers[0].models[1].model: is the same as in entry 0',
    ],
    [provider().replace('{ model: m }', ''), '1: providers[0].models: must not be empty'],
    [
      'io_logging: { max_pending_bytes: 256KB }',
      '1: io_logging.max_pending_bytes: must not be below max_bytes, which is 262144',
    ],
    [
      provider(', api_key: [a, b], key_names: [a]'),
      '1: providers[0].key_names: must name each key in api_key: 2, not 1',
    ],
    [
      'limits: { unpriced_models: deny }',
      '1: limits.unpriced_models: must be `allow`, `reject`, or the prices `{ prompt, completion }` in USD per token, got "deny"',
    ],
    ['limits: { unpriced_models: { prompt: 1 } }', '1: limits.unpriced_models.completion: is missing'],
    [
      'limits: { unpriced_models: { prompt: 1, completion: x } }',
      '1: limits.unpriced_models.completion: must be a decimal number, got "x"',
    ],
    [
      'alerts: { webhooks: [{ id: a, url: "http://one" }, { id: a, url: "http://two" }] }',
      '1: alerts.webhooks[1].id: is the same as in entry 0',
    ],
    [
      'limits: { unpriced_models: { prompt: 2, completion: 1 } }',
      '1: limits.unpriced_models.prompt: must be at most 1 USD per token, not 2; prices are per token, not per million',
    ],
    [provider(', api_key: 5'), '1: providers[0].api_key: must be a string or a list (each entry a string)'],
    [
      provider().replace('model: m', 'model: m, pricing: { prompt: "-1" }'),
      '1: providers[0].models[0].pricing.prompt: must be a decimal number, got "-1"',
    ],
  ])('%s', (text, problem) => {
    expect(problemsOf(text)).toContain(problem);
  });

  it('names what the egress proxy of pods lacks', () => {
    const problems = (egress: string) => problemsOf(`tools: { sandbox: { kubernetes: { egress: ${egress} } } }`);
    const at = '1: tools.sandbox.kubernetes.egress';
    expect(problems('{ address: fd00::1, gateway_labels: { app: headgate }, gateway_namespace: n }')).toEqual([]);
    expect(problems('{ port: 3128 }')).toEqual([`${at}.address: is missing`]);
    expect(problems('{ address: gateway.example }')).toEqual([
      `${at}.address: must be an IP address, got "gateway.example"`,
    ]);
    expect(problems('{ address: 10.0.0 }')).toEqual([`${at}.address: must be an IP address`]);
    expect(problems('{ address: 10.0.0.1, gateway_namespace: n }')).toEqual([
      `${at}.gateway_namespace: needs gateway_labels`,
    ]);
  });

  it('reports problems of every kind, from the top, without consequential ones', () => {
    const text = `
server: { port: x }
providers:
  - { id: a, wire: opnai-chat, models: [{ model: m }], package: p }
  - { id: b, wire: openai-chat, base_url: "ftp://x", models: [{ modle: m }, { model: "a*b*" }] }
  - { id: b, wire: openai-chat, base_uri: "http://x", models: [{ model: m, tier: 5 }, { model: m, teir: flex }] }
  - 7
io_logging: { max_bytes: much, max_pending_bytes: 2KB }
budgets: { member: { monthly: ten, weekly: 5, daily: 6 } }
bootstrap:
  workspaces: [{ name: main }, { nam: other }]
  membrs: [{ id: ada, workspaces: [main] }]
  keys:
    - { key: a-key-of-eight, name: a, workspace: elsewhere, member: ada }
    - { key: a-key-of-nine1, name: b, workspace: main, membr: ada }
    - { key: a-key-of-eight, name: c, kind: managment }
`;
    const told = problemsOf(text).map((line) => line.replace(/: (must be (?:one|an?) |unknown key).*/, ': $1'));
    expect(told).toEqual([
      '2: server.port: must be an ',
      '4: providers[0].wire: must be one ',
      '5: providers[1].models[0].modle: unknown key',
      '5: providers[1].base_url: must be an ',
      '5: providers[1].models[1].model: may contain at most one *',
      '6: providers[2].base_uri: unknown key',
      '6: providers[2].models[0].tier: must be one ',
      '6: providers[2].models[1].teir: unknown key',
      '6: providers[2].id: is the same as in entry 1',
      '7: providers[3]: must be an ',
      '8: io_logging.max_bytes: must be a ',
      '9: budgets.member.monthly: must be a ',
      '9: budgets.member.daily: must be below weekly, which is 5',
      '11: bootstrap.workspaces[1].nam: unknown key',
      '12: bootstrap.membrs: unknown key',
      '15: bootstrap.keys[1].membr: unknown key',
      '16: bootstrap.keys[2].kind: must be one ',
      '16: bootstrap.keys[2].key: is the same as in entry 0',
    ]);
  });

  it('suggests the intended parameter', () => {
    const [problem] = problemsOf(
      'providers: [{ id: a, wire: simulator, models: [{ model: a/b, supported_parameters: [tools, temprature] }] }]',
    );
    expect(problem).toBe(
      '1: providers[0].models[0].supported_parameters[1]: has an unknown value, got "temprature"; did you mean `temperature`?',
    );
  });

  it.each([
    ['{ key: 1234567 }', 'must be a string'],
    ['{ key: short, name: n }', 'must have 8 or more characters'],
    ['{ key: "with a blank", name: n }', 'must be printable ASCII without spaces'],
    ['{ key: long-enough, name: n, member: ada }', 'is missing'],
    ['{ key: long-enough, name: n, workspace: nowhere, member: ada }', 'is not in bootstrap.workspaces'],
    ['{ key: long-enough, name: n, workspace: main, member: bob }', 'is not in bootstrap.members'],
    [
      '{ key: long-enough, name: n, workspace: main }',
      'needs either member, or acts_as: organization, or kind: management',
    ],
    ['{ key: long-enough, name: n, kind: management, member: ada }', 'is not allowed with kind: management'],
    ['{ key: long-enough, name: n, kind: management, credit_usd: 1 }', 'is not allowed with kind: management'],
    ['{ key: long-enough, name: n, kind: management, tokens_per_minute: 1 }', 'is not allowed with kind: management'],
    ['{ key: long-enough, name: n, workspace: main, member: ada, credit_usd: -1 }', 'must be'],
    [
      '{ key: long-enough, name: a, kind: management }, { key: long-enough, name: b, kind: management }',
      'is the same as in entry 0',
    ],
  ])('bootstrap key %s', (key, message) => {
    const text = `bootstrap: { workspaces: [{ name: main }], members: [{ id: ada, workspaces: [main] }], keys: [${key}] }`;
    const problems = problemsOf(text);
    expect(problems.join('\n')).toContain(message);
    expect(problems.join('\n')).not.toContain('long-enough');
  });
});

describe('the file', () => {
  it('may be UTF-16, as PowerShell writes it', () => {
    writeFileSync(join(folder, 'utf16.yaml'), Buffer.from('\ufeffserver: { port: 9004 }\r\n', 'utf16le'));
    expect(loadConfig({ file: 'utf16.yaml', env: {}, cwd: folder }).config.server.port).toBe(9004);
  });

  it('may have keys that begin with x- for anchors', () => {
    const text =
      'x-local: &local { wire: openai-chat, base_url: "http://127.0.0.1:9/v1", models: [{ model: m }] }\nproviders: [{ <<: *local, id: one }]';
    expect(load(text).config.providers[0]).toMatchObject({ id: 'one', wire: 'openai-chat' });
    expect(problemsOf('server: { x-port: 1 }')[0]).toContain('unknown key');
  });

  it('may have a base URL with the path of a request, which is left out', () => {
    const text = provider().replace('/v1', '/v1/chat/completions');
    const { config, warnings } = load(text);
    expect(config.providers[0]!.base_url).toBe('http://127.0.0.1:9/v1');
    expect(warnings).toEqual([
      'providers[0].base_url ends in /chat/completions, which the wire adds itself. The gateway leaves it out.',
    ]);
  });

  it('may have prices with exponents, also in texts', () => {
    const price = provider().replace('{ model: m }', '{ model: m, pricing: { prompt: "1e-06", completion: 2.5E-06 } }');
    expect(load(price).config.providers[0]!.models[0]!.pricing).toEqual({ prompt: '1e-06', completion: 2.5e-6 });
  });
});

describe('${NAME}', () => {
  it('is replaced in any string, even unquoted in braces, and $${ is literal', () => {
    const env = { NAME: 'x: {y} # z', PORT: '9002', LIST: 'https://a.example, https://b.example' };
    const text = `
server: { port: ${'${PORT}'}, cors_origins: ${'${LIST}'}, region: "a-$\${NAME}-${'${NAME}'}" } # ${'${COMMENT}'}
secrets: { master_key: ${'${NAME}'} }
`;
    const { server, secrets } = load(text, { env }).config;
    expect(server.port).toBe(9002);
    expect(server.cors_origins).toEqual(['https://a.example', 'https://b.example']);
    expect(server.region).toBe('a-${NAME}-x: {y} # z');
    expect(secrets.master_key).toBe('x: {y} # z');
  });

  it('reports unset variables', () => {
    expect(problemsOf('\nsecrets: { master_key: ${GONE} }')).toEqual([
      '2: secrets.master_key: the environment variable GONE is not set',
    ]);
    expect(problemsOf('server: { region: "${NO-NAME}" }')[0]).toContain('without a valid ${NAME}');
  });

  it('has a default, also in braces, and a message', () => {
    const text = 'server: { port: ${PORT:-9003}, region: ${REGION:-eu-1}, host: "${HOST:-::1}" }';
    expect(load(text, { env: { REGION: '' } }).config.server).toMatchObject({
      port: 9003,
      region: 'eu-1',
      host: '::1',
    });
    expect(load(text, { env: { PORT: '1', REGION: 'us' } }).config.server).toMatchObject({ port: 1, region: 'us' });
    expect(problemsOf('secrets: { master_key: "${GONE:?create one}" }')).toEqual([
      '1: secrets.master_key: the environment variable GONE is not set: create one',
    ]);
  });

  it.each([
    ['True', true],
    ['1', true],
    ['off', false],
    ['NO', false],
  ])('is a boolean: %s', (value, builtin) => {
    expect(load('catalog: { builtin: ${B} }', { env: { B: value } }).config.catalog.builtin).toBe(builtin);
  });

  it('is not required if the environment overrides the value', () => {
    const env = { HEADGATE_PROVIDERS_0_API_KEY: 'k' };
    expect(load(provider(', api_key: "${GONE}"'), { env }).config.providers[0]!.api_key).toBe('k');
  });

  it.each<[string, string | undefined, string[] | undefined]>([
    ['${ONE}', undefined, ['ONE']],
    ['[ ${TWO}, inline, ${ONE} ]', undefined, ['TWO', 'key 2', 'ONE']],
    ['inline', undefined, undefined],
    ['[ ${ONE}, ${TWO} ]', '[ first, second ]', ['first', 'second']],
  ])('names the key that it holds: %s', (keys, names, expected) => {
    const more = `, api_key: ${keys}${names === undefined ? '' : `, key_names: ${names}`}`;
    const { config } = load(provider(more), { env: { ONE: 'k-1\n', TWO: 'k-2' } });
    expect(config.providers[0]!.key_names).toEqual(expected);
  });

  it('never shows its value, or a key in the file', () => {
    const env = { SECRET: 'sk-very-secret' };
    const wrong = `
server: { port: ${'${SECRET}'}, body_limit: ${'${SECRET}'} }
log: { level: "${'${SECRET}'}" }
secrets: { master_key: [sk-very-secret] }
providers: [{ id: a b, wire: "${'${SECRET}'}", base_url: "http://u:sk-very-secret@h", api_key: { a: sk-very-secret }, headers: [sk-very-secret], models: [{model: m}] }]
bootstrap: { keys: [{ key: "sk-very-secret x", name: 1 }] }
`;
    const problems = problemsOf(wrong, { env });
    expect(problems.length).toBeGreaterThan(7);
    expect(problems.join('\n')).not.toContain('very');
    expect(problemsOf('secrets: { master_key: "sk-very-secret" x: sk-very-secret').join()).not.toContain('very');
    expect(problemsOf('secrets:\n  master_key: sk-very-secret\n sk-very-secret').join()).not.toContain('very');
  });
});
