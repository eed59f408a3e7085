import { describe, expect, it } from 'vitest';
import { Mask } from './mask.ts';

const key = 'a-key/without "any" shape — ü';
const mask = new Mask([key, 'ada@example.com', 'ollama', '']);

describe('a body', () => {
  it.each([
    ['unchanged', key],
    ['in JSON', JSON.stringify(key)],
    ['in JSON of ASCII alone', '"a-key\\/without \\"any\\" shape \\u2014 \\u00fc"'],
    ['in a URL', encodeURIComponent(key)],
  ])('hides a known key %s', (_how, text) => {
    const masked = mask.text(`before ${text} after`);
    expect(masked).toMatch(/^before .*\[removed\].* after$/);
    expect(masked).not.toContain('shape');
  });

  it.each([
    'sk-proj-a1b2****************************c3d4',
    'gsk_0123456789abcdefABCD',
    'AIzaSyA0123456789abcdefghijklmnopqrstuv',
    'Bearer abcdefghijklmnop0123',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N',
    'org-A1b2C3d4E5f6',
    'req_011CWxyzABCDEFGHIJKL',
  ])('hides what looks like a key or an account: %s', (secret) => {
    expect(mask.text(`The id is ${secret}, sorry.`)).toMatch(/^The id is (?:Bearer )?\[removed\], sorry\.$/);
  });

  it('hides the fields that identify the caller, and keeps everything else', () => {
    const body = `{"user_id": "u \\"1\\"", "user":"ada","request_id":"r","role":"user","error":{"message":"x"}}`;
    expect(mask.text(body)).toBe(
      `{"user_id": "[removed]", "user":"[removed]","request_id":"[removed]","role":"user","error":{"message":"x"}}`,
    );
    expect(mask.text('"arguments":"{\\"user\\":\\"ada\\"}" from ada@example.com')).toBe(
      '"arguments":"{\\"user\\":\\"ada\\"}" from [removed]',
    );
  });

  it('keeps short words, and ids with a meaning', () => {
    const text =
      'ollama says: chatcmpl-982d9e3eb996f559 call_WC1BZjd4k3H1mZtg user_authentication sk-short msg_0123456789abc';
    expect(mask.text(text)).toBe(text);
  });

  it('keeps every other byte, valid UTF-8 or not', () => {
    const bytes = Buffer.from([0, 0xff, 0xfe, 0x80, 0xc3, 0x28, 10, 13, 0xe2, 0x82]);
    expect(mask.bytes(bytes)).toEqual(bytes);
    expect(mask.text('Grüße 😀')).toBe('Grüße 😀');
  });
});

describe('headers', () => {
  it('of a response keep what describes its making', () => {
    const plain = {
      'content-type': 'text/event-stream',
      'retry-after': '20',
      'x-ratelimit-remaining-tokens': '100',
      'anthropic-ratelimit-requests-limit': '50',
      'openai-processing-ms': '312',
      'openai-version': '2020-10-01',
      server: 'cloudflare',
    };
    const telling = ['set-cookie', 'x-request-id', 'cf-ray', 'openai-organization', 'openai-project', 'x-never-seen'];
    const headers = { ...plain, ...Object.fromEntries(telling.map((name) => [name, 'secret'])) };
    expect(mask.responseHeaders(headers)).toEqual({
      ...plain,
      ...Object.fromEntries(telling.map((name) => [name, '[removed]'])),
    });
  });

  it('of a request keep neither the key nor headers of the configuration', () => {
    expect(
      mask.requestHeaders({
        authorization: 'Bearer x',
        'x-api-key': 'x',
        cookie: 'x',
        'x-team': 'x',
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      }),
    ).toEqual({
      authorization: '[removed]',
      'x-api-key': '[removed]',
      cookie: '[removed]',
      'x-team': '[removed]',
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
    });
  });

  it('hide a key inside a plain one', () => {
    expect(mask.responseHeaders({ server: 'for ada@example.com' })).toEqual({ server: 'for [removed]' });
  });
});
