import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { homePage } from '../../src/api/home/page.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const read = async (path: string, init?: RequestInit) => fetch(gateway.url + path, init);

describe('GET /', () => {
  it('returns a page to anyone, without a key', async () => {
    const response = await read('/');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(await response.text()).toBe(homePage);
    for (const format of ['OpenAI Responses', 'chat completions', 'Anthropic Messages', 'Gemini'])
      expect(homePage).toContain(format);
  });

  it('is the same page for every configuration, so that it reveals nothing of one', async () => {
    const other = await testGateway({ server: { public_url: 'https://models.example.com', metrics: 'off' } });
    const page = await (await fetch(other.url)).text();
    await other.close();
    expect(page).toBe(homePage);
  });

  it('allows only its own style and script, and no other site', async () => {
    const policy = (await read('/')).headers.get('content-security-policy')!;
    const hashOf = (tag: string) => {
      const [, text] = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(homePage)!;
      return `${tag}-src 'sha256-${createHash('sha256').update(text!).digest('base64')}'`;
    };
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      hashOf('style'),
      hashOf('script'),
      "connect-src 'self'",
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    expect([...homePage.matchAll(/\b(?:src|href)="([^"]*)"/g)].map(([, link]) => link)).toEqual([
      expect.stringMatching(/^data:image\/svg\+xml,/),
      '/ready',
      'console', // relative, because a proxy may put the gateway below a path
      '/health',
      '/ready',
      '/metrics',
      '/api/v1/openapi.json',
    ]);
  });

  it('links only to routes that exist', async () => {
    for (const path of ['/ready', '/health', '/metrics', '/api/v1/openapi.json'])
      expect((await read(path)).status, path).toBe(200);
  });

  it('has no body for HEAD, and rejects other methods', async () => {
    const head = await read('/', { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(await head.text()).toBe('');
    const post = await read('/', { method: 'POST' });
    expect(post.status).toBe(405);
    expect(post.headers.get('allow')).toBe('GET, HEAD');
  });
});
