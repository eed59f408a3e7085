import { describe, expect, it } from 'vitest';
import { loadConfig } from './load.ts';

const load = (env: Record<string, string>, providers?: string) =>
  loadConfig({ env: { ...env, ...(providers && { HEADGATE_PROVIDERS: providers }) }, cwd: import.meta.dirname });

describe('a key with white space or quotes around it', () => {
  it.each([
    ['sk-one\n', 'sk-one', false],
    ['  sk-one\r\n', 'sk-one', false],
    ['"sk-one"', 'sk-one', true],
    ["'sk-one'\n", 'sk-one', true],
    ['sk-"one', 'sk-"one', false],
  ])('%j of the environment is %j', (value, key, isNamed) => {
    const { config, warnings } = load({ OPENAI_API_KEY: value });
    expect(config.providers[0]!.api_key).toBe(key);
    expect(warnings.some((text) => text.includes('is in quotes'))).toBe(isNamed);
    for (const warning of warnings) expect(warning).not.toContain('sk-one');
  });

  it('is trimmed in a list and in a header as well', () => {
    const written = JSON.stringify([
      {
        id: 'acme',
        wire: 'openai-chat',
        base_url: 'http://127.0.0.1:9/v1',
        api_key: ['sk-one\n', ' sk-two '],
        headers: { 'x-key': 'sk-one\n' },
        models: [{ model: 'acme/one' }],
      },
    ]);
    const { config } = load({}, written);
    expect(config.providers[0]).toMatchObject({ api_key: ['sk-one', 'sk-two'], headers: { 'x-key': 'sk-one' } });
  });
});
