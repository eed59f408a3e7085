// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { type Imported, importLitellm } from './import-litellm.ts';
import { describeImport, writeImport } from './write-import.ts';

/** Loads what an import writes, with every variable that it reports. */
function load(imported: Imported): Config {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-import-'));
  const file = join(folder, 'headgate.yaml');
  writeFileSync(file, writeImport(imported, 'LiteLLM'));
  const env = Object.fromEntries(
    [...imported.report.variables.keys()].map((name) => [name, `http://value-of-${name}/v1`]),
  );
  try {
    return loadConfig({ file, env, cwd: folder }).config;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const read = (text: string, more: { keys?: string; env?: Record<string, string> } = {}): Imported =>
  importLitellm(text, { env: {}, ...more });

/** A team with two accounts of Azure, a fallback, a local server and most settings. */
const team = `
model_list:
  - model_name: gpt-4o
    litellm_params:
      model: azure/gpt-4o-eu
      api_base: https://team-eu.openai.azure.com/
      api_key: os.environ/AZURE_API_KEY_EU
      api_version: "2024-10-21"
      rpm: 600
      tpm: 100000
  - model_name: gpt-4o
    litellm_params:
      model: azure/gpt-4o-us
      api_base: https://team-us.openai.azure.com
      api_key: os.environ/AZURE_API_KEY_US
      rpm: 200
  - model_name: claude
    litellm_params:
      model: anthropic/claude-sonnet-4-5
      api_key: os.environ/ANTHROPIC_API_KEY
      max_retries: 1
      timeout: 45
      temperature: 0.2
    model_info:
      input_cost_per_token: 0.000003
      output_cost_per_token: 0.000015
      max_input_tokens: 200000
      max_output_tokens: 64000
      supports_function_calling: true
      supports_vision: true
      base_model: claude-sonnet
  - model_name: llama
    litellm_params:
      model: openai/meta-llama/Llama-3.3-70B
      api_base: http://gpu.internal:8000/v1
      api_key: EMPTY
  - model_name: embed
    litellm_params: { model: ollama/nomic-embed-text, api_base: os.environ/OLLAMA_BASE }
    model_info: { mode: embedding }
router_settings:
  routing_strategy: least-busy
  num_retries: 2
  fallbacks: [{ gpt-4o: [claude] }, { claude: [gpt-4o, llama] }, { gone: [claude] }]
  model_group_alias: { default: gpt-4o, secret: { model: claude, hidden: true }, lost: none }
  redis_host: os.environ/REDIS_HOST
  allowed_fails: 3
litellm_settings:
  drop_params: true
  request_timeout: 120
  max_budget: 500
  budget_duration: 30d
  success_callback: [langfuse]
  json_logs: true
general_settings:
  master_key: os.environ/LITELLM_MASTER_KEY
  database_url: postgres://litellm:pa55word@db/litellm
  alerting: [slack]
  future_setting: 5
environment_variables:
  LANGFUSE_SECRET_KEY: sk-lf-0123456789
`;

describe('an import of a LiteLLM configuration', () => {
  const imported = read(team);
  const config = load(imported);
  const provider = (id: string) => config.providers.find((each) => each.id === id);
  const skipped = Object.fromEntries(imported.report.notCarried.map(({ path, message }) => [path, message]));

  it('loads, with the models of each account under one provider', () => {
    expect(config.providers.map(({ id }) => id)).toEqual([
      'azure',
      'azure-2',
      'anthropic',
      'gpu.internal-8000',
      'ollama',
    ]);
    expect(provider('azure')).toMatchObject({
      wire: 'openai-responses',
      base_url: 'https://team-eu.openai.azure.com/openai/v1',
      api_key: 'http://value-of-AZURE_API_KEY_EU/v1',
    });
    expect(provider('gpu.internal-8000')).toMatchObject({
      wire: 'openai-chat',
      base_url: 'http://gpu.internal:8000/v1',
    });
    expect(provider('gpu.internal-8000')).not.toHaveProperty('api_key'); // EMPTY stands for none
    expect(provider('anthropic')).toMatchObject({ timeouts: { total_ms: 45_000 }, retry: { attempts: 2 } });
    expect(provider('anthropic')!.models[0]).toMatchObject({
      model: 'claude',
      upstream_model: 'claude-sonnet-4-5',
      pricing: { prompt: 0.000003, completion: 0.000015 },
      max_prompt_tokens: 200_000,
      max_output_tokens: 64_000,
      capabilities: { tools: true, input: ['text', 'image'] },
    });
    expect(provider('ollama')!.models[0]).toMatchObject({
      model: 'embed',
      upstream_model: 'nomic-embed-text',
      capabilities: { output: ['embeddings'] },
    });
    expect(config.catalog.auto_discover).toBe(false);
  });

  it('keeps fallbacks, aliases and weights', () => {
    const endpoints = (name: string) =>
      config.providers.flatMap(({ id, models }) =>
        models.filter(({ model }) => model === name).map(({ weight }) => [id, weight]),
      );
    expect(endpoints('gpt-4o')).toEqual([
      ['azure', 600],
      ['azure-2', 200],
      ['anthropic', 0],
    ]);
    expect(endpoints('claude')).toEqual([
      ['azure', 0],
      ['azure-2', 0],
      ['anthropic', undefined],
      ['gpu.internal-8000', 0],
    ]);
    expect(endpoints('default')).toEqual(endpoints('gpt-4o'));
    expect(endpoints('secret')).toEqual(endpoints('claude'));
  });

  it('keeps limits, budgets, retries and timeouts', () => {
    expect(config.limits.models).toMatchObject([
      { model: 'gpt-4o', requests_per_minute: 800 },
      { model: 'default', requests_per_minute: 800 },
    ]);
    expect(config).toMatchObject({
      budgets: { organization: { monthly: 500 } },
      retry: { attempts: 3 },
      timeouts: { total_ms: 120_000 },
      routing: { strategy: 'least-busy' },
      log: { format: 'json' },
    });
    expect(config.bootstrap.keys).toMatchObject([{ name: 'litellm-master', acts_as: 'organization' }]);
  });

  it('lists everything that it does not carry', () => {
    expect(Object.keys(skipped).sort()).toEqual([
      'environment_variables.LANGFUSE_SECRET_KEY',
      'general_settings.alerting',
      'general_settings.database_url',
      'general_settings.future_setting',
      'litellm_settings.success_callback',
      'model_list[0].litellm_params.api_version',
      'model_list[0].litellm_params.tpm',
      'model_list[2].litellm_params.temperature',
      'model_list[2].model_info.base_model',
      'router_settings.allowed_fails',
      'router_settings.fallbacks[2].gone',
      'router_settings.model_group_alias.lost',
      'router_settings.redis_host',
    ]);
    expect(imported.report.changed.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        'litellm_settings.drop_params',
        'general_settings.master_key',
        'router_settings.model_group_alias.default',
      ]),
    );
    const file = writeImport(imported, 'LiteLLM');
    for (const path of Object.keys(skipped)) expect(file).toContain(`#   ${path}: `);
  });
});

describe('keys', () => {
  const literal = `
model_list:
  - { model_name: a, litellm_params: { model: gpt-4o, api_key: sk-first-secret } }
  - { model_name: b, litellm_params: { model: openai/o3, api_key: sk-first-secret } }
  - model_name: c
    litellm_params:
      model: groq/x
      api_key: gsk-second-secret
      extra_headers: { X-Token: third-secret }
      organization: sixth-secret
  - { model_name: d, litellm_params: { model: openai/x, api_base: "https://user:fourth-secret@host/v1" } }
general_settings: { master_key: sk-master-secret, database_url: "postgres://u:fifth-secret@db/x" }
`;

  it('are neither written nor printed, and each gets a variable', () => {
    const imported = read(literal);
    expect(`${writeImport(imported, 'LiteLLM')}${describeImport(imported).join('\n')}`).not.toMatch(/secret/);
    expect([...imported.report.variables.keys()]).toEqual([
      'OPENAI_API_KEY',
      'GROQ_API_KEY',
      'HEADER_X_TOKEN',
      'HEADER_OPENAI_ORGANIZATION',
      'LITELLM_MASTER_KEY',
    ]);
    const place = 'model_list[2].litellm_params.organization';
    expect(imported.report.variables.get('HEADER_OPENAI_ORGANIZATION')).toContain(place);
    expect(load(imported).providers.map(({ id, models }) => [id, models.length])).toEqual([
      ['openai', 2],
      ['groq', 1],
    ]);
  });

  it('of a list keep their names, budgets, models and rates', () => {
    const keys = {
      keys: [
        {
          token: 'f'.repeat(64),
          key_alias: 'shop backend',
          key_name: 'sk-...abcd',
          team_alias: 'Shop',
          user_id: 'ada',
          models: ['a'],
          max_budget: 20,
          budget_duration: '7d',
          rpm_limit: 60,
          max_parallel_requests: 4,
          tpm_limit: null,
          spend: 3,
          metadata: {},
          aliases: {},
          blocked: null,
          tags: ['x'],
        },
        { key_alias: 'trial', max_budget: 5, models: ['all-team-models'], blocked: true, expires: '2027-01-01' },
        'a-token-that-is-secret',
      ],
    };
    const imported = read(literal, { keys: JSON.stringify(keys) });
    const { bootstrap } = load(imported);
    expect(bootstrap.keys).toMatchObject([
      { name: 'litellm-master' },
      { name: 'shop backend', workspace: 'Shop', member: 'ada', requests_per_minute: 60, concurrent_requests: 4 },
      { name: 'trial', workspace: 'main', acts_as: 'organization', credit_usd: 5, disabled: true },
    ]);
    expect(bootstrap.members).toMatchObject([{ id: 'ada', workspaces: ['Shop'] }]);
    expect(bootstrap.guardrails).toMatchObject([
      {
        workspace: 'Shop',
        keys: ['shop backend'],
        rules: { limit_usd: 20, reset_interval: 'weekly', allowed_models: ['a'] },
      },
    ]);
    expect(imported.report.variables.has('KEY_SHOP_BACKEND')).toBe(true);
    const paths = imported.report.notCarried.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['keys[0].tags', 'keys[1].expires', 'keys[2]']));
    expect(writeImport(imported, 'LiteLLM')).not.toMatch(/secret|ffff|abcd/);
  });
});

it('says where guardrails go', () => {
  const { report } = read('model_list: []\nguardrails: [{ guardrail_name: pii }]\n');
  const found = report.notCarried.find(({ path }) => path === 'guardrails');
  expect(found?.message).toContain('guardrails.analyzer_url is for Presidio');
});

describe('wildcards and unknown providers', () => {
  const odd = `
model_list:
  - { model_name: "anthropic/*", litellm_params: { model: "anthropic/*", api_base: "https://proxy.example/anthropic" } }
  - { model_name: "*", litellm_params: { model: "openai/*" } }
  - { model_name: "*", litellm_params: { model: "*" } }
  - { model_name: one, litellm_params: { model: "openai/*" } }
  - { model_name: nova, litellm_params: { model: bedrock/us.amazon.nova-pro-v1:0, aws_region_name: us-east-1 } }
  - { model_name: mystery, litellm_params: { model: mystery/m-1 } }
  - { model_name: ours, litellm_params: { model: mystery/m-2, api_base: "https://llm.example/v1/chat/completions" } }
  - { model_name: gem, litellm_params: { model: gemini-2.5-flash } }
  - { model_name: draw, litellm_params: { model: openai/gpt-image-1 }, model_info: { mode: image_generation } }
  - { litellm_params: { model: openai/x } }
  - 5
litellm_settings:
  default_fallbacks: [ours]
surprise: true
`;

  it('are carried if one provider has them, otherwise listed', () => {
    const imported = read(odd);
    const config = load(imported);
    const rows = config.providers.map(({ id, base_url: url, models }) => [id, url, models.map(({ model }) => model)]);
    expect(rows).toEqual([
      ['anthropic', 'https://proxy.example/anthropic/v1', ['anthropic/*']],
      ['openai', 'https://api.openai.com/v1', ['*']],
      ['llm.example', 'https://llm.example/v1', ['ours']],
    ]);
    const messages = imported.report.notCarried.map(({ path, message }) => `${path}: ${message}`);
    for (const part of ['[2]', '[3]', '[4]', '[5]', '[7]', '[8]', '[9]', '[10]', 'surprise', 'default_fallbacks']) {
      expect(
        messages.some((message) => message.split(': ', 1)[0]!.includes(part)),
        part,
      ).toBe(true);
    }
    expect(messages.join('\n')).toContain('@ai-sdk/amazon-bedrock');
  });

  it('uses the address of a variable if it is set', () => {
    const text = 'model_list: [{ model_name: m, litellm_params: { model: ollama/m, api_base: os.environ/BASE } }]';
    const urlOf = (base?: string) =>
      (read(text, { env: base === undefined ? {} : { BASE: base } }).config['providers'] as { base_url?: string }[])[0]!
        .base_url;
    expect(urlOf()).toBe('${BASE}');
    expect(urlOf('http://host:11434')).toBe('http://host:11434/v1');
    expect(urlOf('http://host:11434/v1')).toBe('${BASE}');
    expect(read(text).report.changed[0]!.message).toContain('must end as');
  });

  it.each(['model_list: [', '[]', 'model_list: {}', ''])('reports a file that is no configuration: %j', (text) => {
    try {
      expect(read(text).report.notCarried.length).toBeGreaterThan(0);
    } catch (error) {
      expect((error as Error).message).toMatch(/^line \d+: /);
    }
  });
});
