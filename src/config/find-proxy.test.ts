import { describe, expect, it } from 'vitest';
import { findProxy } from './find-proxy.ts';
import { loadConfig } from './load.ts';

const proxy = 'http://user:pass@proxy.internal:3128';

describe('the proxy for a provider', () => {
  it.each([
    ['https://api.acme.com/v1', { HTTPS_PROXY: proxy }, proxy],
    ['https://api.acme.com/v1', { https_proxy: proxy }, proxy],
    ['https://api.acme.com/v1', { HTTP_PROXY: proxy }, undefined],
    ['http://api.acme.com/v1', { HTTP_PROXY: proxy }, proxy],
    ['https://api.acme.com/v1', { ALL_PROXY: proxy }, proxy],
    ['https://api.acme.com/v1', { HTTPS_PROXY: 'proxy.internal:3128' }, 'http://proxy.internal:3128'],
    ['https://api.acme.com/v1', { HTTPS_PROXY: 'socks5://proxy.internal' }, undefined],
    ['https://api.acme.com/v1', {}, undefined],
    ['http://127.0.0.1:11434/v1', { ALL_PROXY: proxy }, undefined],
    ['http://[::1]:11434/v1', { ALL_PROXY: proxy }, undefined],
    ['http://localhost:11434/v1', { ALL_PROXY: proxy }, undefined],
    ['http://localhost.:11434/v1', { ALL_PROXY: proxy }, undefined],
    ['http://0.0.0.0:11434/v1', { ALL_PROXY: proxy }, undefined],
    ['http://[::]:11434/v1', { ALL_PROXY: proxy }, undefined],
  ])('of %s with %j is %j', (url, env, found) => {
    expect(findProxy(url, env)).toBe(found);
  });

  it.each([
    ['https://api.acme.com/v1', 'acme.com', true],
    ['https://api.acme.com/v1', '.acme.com', true],
    ['https://api.acme.com/v1', '*.acme.com', true],
    ['https://api.acme.com/v1', 'other.com, API.acme.com', true],
    ['https://api.acme.com/v1', '*', true],
    ['https://api.acme.com/v1', 'api.acme.com:443', true],
    ['https://api.acme.com:8443/v1', 'api.acme.com:443', false],
    ['https://api.notacme.com/v1', 'acme.com', false],
    ['http://10.1.2.3:8000/v1', '10.0.0.0/8', true],
    ['http://10.1.2.3:8000/v1', '10.1.2.3', true],
    ['http://11.1.2.3:8000/v1', '10.0.0.0/8', false],
    ['http://11.1.2.3:8000/v1', '10.0.0.0/99', false],
    ['http://[fd00::1]:8000/v1', 'fd00::/8', true],
    ['http://[2001:db8::1]:8000/v1', '[2001:db8::1]', true],
    ['https://api.acme.com/v1', 'acme.com.', true],
  ])('of %s is none with NO_PROXY=%s: %s', (url, list, isNone) => {
    expect(findProxy(url, { ALL_PROXY: proxy, NO_PROXY: list })).toBe(isNone ? undefined : proxy);
  });
});

describe('the setting of a provider', () => {
  const load = (more: object) =>
    loadConfig({
      env: {
        HTTPS_PROXY: proxy,
        HEADGATE_PROVIDERS: JSON.stringify([
          { id: 'acme', wire: 'openai-chat', base_url: 'https://api.acme.com/v1', models: [{ model: 'a/b' }], ...more },
        ]),
      },
      cwd: import.meta.dirname,
    }).config.providers[0]!.proxy;

  it('comes before the environment', () => {
    expect(load({})).toBe(proxy);
    expect(load({ proxy: 'http://other.internal:1' })).toBe('http://other.internal:1');
    expect(load({ proxy: false })).toBe(false);
  });

  it('must be a URL', () => {
    expect(() => load({ proxy: 'socks5://other.internal' })).toThrow('must be an http or https URL');
    expect(() => load({ proxy: 'http://us%zzer:p@other.internal' })).toThrow('providers[0].proxy');
  });
});
