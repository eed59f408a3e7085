import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDocx, createPdf } from '../../src/testing/sample-files.ts';
import type { Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, type Served, shownItems, stageOf, type ToolLab } from './lab.ts';
import { patient } from '../../src/testing/patience.ts';

let site: Server;
let inside: Server;
let siteUrl: string;
let insideUrl: string;
let serve: (request: IncomingMessage, response: ServerResponse) => void;
let insideCount = 0;
let asked: IncomingMessage[] = [];
let lab: ToolLab;

const listen = async (server: Server): Promise<string> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

beforeAll(async () => {
  site = createServer((request, response) => {
    asked.push(request);
    serve(request, response);
  });
  inside = createServer((_request, response) => {
    insideCount++;
    response.end('secret');
  });
  [siteUrl, insideUrl] = await Promise.all([listen(site), listen(inside)]);
  lab = await openToolLab({ outbound: { allow: [new URL(siteUrl).host], idle_ms: patient(1000) } });
});
afterAll(async () => {
  await lab.close();
  for (const server of [site, inside]) {
    server.closeAllConnections();
    server.close();
  }
});
beforeEach(() => {
  asked = [];
  serve = (_request, response) => response.setHeader('content-type', 'text/html; charset=utf-8').end(page);
});

const page = `<!doctype html><html><head><title>Fjords &amp; more</title><script>alert(1)</script></head>
<body><nav><a href="/home">Home</a></nav><div role="navigation">Menu</div>
<h1>Fjords</h1><p>Norway has <a href="list">many</a> <a href="#top">here</a>.</p>
<table><tr><th>Name</th><th>Length</th></tr><tr><td>Sogn</td><td>205 km</td></tr></table><footer>Imprint</footer></body></html>`;
const tool = { type: 'router:web_fetch' };
const fetching = (url: string): Turn => ({ calls: [call('router_web_fetch', { url })] });
const answering: Turn = { text: 'I have read it.' };

describe.each(modes)('router:web_fetch, %s', (mode) => {
  async function run(request: object, ...turns: Turn[]): Promise<{ served: Served; sent: string[] }> {
    lab.takeRequests();
    lab.script('openai-chat', ...turns);
    const served = await lab.respond('openai-chat', mode, { tools: [tool], ...request });
    return { served, sent: lab.takeRequests().map(({ text }) => text) };
  }
  /** Fetches one URL. @returns the item, and the result that the model reads */
  async function read(url: string, parameters?: object) {
    const { served, sent } = await run({ tools: [{ ...tool, parameters }] }, fetching(url), answering);
    expect(served.body.status).toBe('completed');
    const messages = (JSON.parse(sent[1]!) as { messages: { role: string; content: string }[] }).messages;
    const result = JSON.parse(messages.find(({ role }) => role === 'tool')!.content) as Record<string, unknown>;
    return { item: shownItems(served)[0]!, result, served };
  }

  it('gives the model the text of a page as markdown', async () => {
    const { item, result, served } = await read(`${siteUrl}/fjords`);

    expect(item).toMatchObject({
      type: 'router:web_fetch',
      status: 'completed',
      url: `${siteUrl}/fjords`,
      title: 'Fjords & more',
      httpStatus: 200,
    });
    expect(item).not.toHaveProperty('error');
    expect(result).toMatchObject({
      url: `${siteUrl}/fjords`,
      title: 'Fjords & more',
      status: 'completed',
      content: expect.stringContaining(`Norway has [many](${siteUrl}/list) here.`),
      retrieved_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(result['content']).toContain('| Sogn | 205 km |');
    expect(result['content']).not.toMatch(/alert|Home|Menu|Imprint/);
    expect(asked[0]!.headers['user-agent']).toMatch(/headgate; \+https:/);
    expect(asked[0]!.headers).not.toHaveProperty('authorization');
    expect(stageOf(served)).toMatchObject({ calls: [{ tool: 'router:web_fetch' }] });
  });

  it.each<[string, () => Buffer, string]>([
    ['PDF', () => createPdf([['The fjord is deep.']]), 'The fjord is deep.'],
    ['DOCX', () => createDocx('<w:p><w:r><w:t>The fjord is deep.</w:t></w:r></w:p>'), 'The fjord is deep.'],
  ])('reads a %s', async (_, create, text) => {
    serve = (_request, response) => response.setHeader('content-type', 'application/octet-stream').end(create());
    const { item } = await read(`${siteUrl}/files/fjord.pdf`);
    expect(item).toMatchObject({ title: 'fjord.pdf', httpStatus: 200, content: expect.stringContaining(text) });
  });

  it('follows redirects, and names the page that it read', async () => {
    serve = ({ url }, response) =>
      url === '/old' ? response.writeHead(302, { location: '/new' }).end() : response.end('<html><p>Here.</p></html>');
    const { item } = await read(`${siteUrl}/old`);
    expect(item).toMatchObject({ url: `${siteUrl}/new`, content: expect.stringContaining('Here.') });
  });

  it.each<[string, () => Parameters<typeof Buffer.from>[0] | Buffer, string, string]>([
    [
      'as declared',
      () => Buffer.from('<html><p>Gr\xfc\xdfe</p></html>', 'latin1'),
      'text/html; charset=iso-8859-1',
      'Grüße',
    ],
    ['by its bytes', () => Buffer.from('<html><p>Grüße</p></html>', 'utf8'), 'text/html; charset=iso-8859-1', 'Grüße'],
    ['without a word about it', () => Buffer.from('<html><p>Gr\xfc\xdfe</p></html>', 'latin1'), 'text/html', 'Grüße'],
    ...[
      ['windows-1251', 'Привет', 'cff0e8e2e5f2'],
      ['shift_jis', '日本語', '93fa967b8cea'],
      ['koi8-r', 'Привет', 'f0d2c9d7c5d4'],
      ['euc-kr', '한국', 'c7d1b1b9'],
      ['gb2312', '你好', 'c4e3bac3'],
      ['iso-2022-jp', '日本', '1b2442467c4b5c1b2842'],
    ].flatMap(([encoding, text, hex]): [string, () => Buffer, string, string][] => {
      const write = (head: string) => () =>
        Buffer.concat([
          Buffer.from(`<html><head>${head}</head><p>`),
          Buffer.from(hex!, 'hex'),
          Buffer.from('</p></html>'),
        ]);
      const pragma = `<meta http-equiv="Content-Type" content="text/html; charset=${encoding}">`;
      return [
        [`in ${encoding} by its meta element`, write(`<meta charset="${encoding}">`), 'text/html', text!],
        [`in ${encoding} by its pragma`, write(pragma), 'text/html', text!],
        [
          `in ${encoding} by the header, which wins`,
          write('<meta charset="utf-8">'),
          `text/html; charset=${encoding}`,
          text!,
        ],
      ];
    }),
    [
      'that is XHTML by its declaration',
      () => Buffer.from('<?xml version="1.0" encoding="koi8-r"?><html><p>\xf0\xd2</p></html>', 'latin1'),
      'application/xhtml+xml',
      'Пр',
    ],
    ['plain text', () => Buffer.from('just text'), 'text/plain', 'just text'],
    ['JSON', () => Buffer.from('{"a": 1}'), 'application/json', '{"a": 1}'],
  ])('reads the characters of a page %s', async (_, body, type, text) => {
    serve = (_request, response) => response.setHeader('content-type', type).end(body());
    expect((await read(siteUrl)).result).toMatchObject({ status: 'completed', content: text });
  });

  describe('gives the model a failed result', () => {
    const fails = async (url: string, says: string, more: object = {}, parameters?: object) => {
      const { item, result } = await read(url, parameters);
      expect(result).toMatchObject({ url, status: 'failed', error: expect.stringContaining(says) });
      expect(item).toMatchObject({ url, status: 'failed', error: expect.stringContaining(says), ...more });
      expect(item).not.toHaveProperty('content');
    };

    it.each([404, 410, 403, 500])('for the status %i', async (status) => {
      serve = (_request, response) => response.writeHead(status).end('no');
      await fails(siteUrl, `HTTP ${status}:`, { httpStatus: status });
    });

    it.each([
      ['a private address', () => insideUrl],
      ['localhost', () => insideUrl.replace('127.0.0.1', 'localhost')],
      ['an address in another spelling', () => insideUrl.replace('127.0.0.1', '2130706433')],
      ['an IPv6 address of this machine', () => insideUrl.replace('127.0.0.1', '[::1]')],
      ['the metadata of a cloud', () => 'http://169.254.169.254/latest/meta-data/'],
    ])('for %s', async (_, url) => {
      insideCount = 0;
      await fails(url(), 'does not fetch from that');
      expect(insideCount).toBe(0);
    });

    it('for a redirect to a private address', async () => {
      insideCount = 0;
      serve = (_request, response) => response.writeHead(302, { location: insideUrl }).end();
      await fails(siteUrl, 'does not fetch from that');
      expect(insideCount).toBe(0);
    });

    it('for endless redirects', async () => {
      serve = ({ url }, response) => response.writeHead(302, { location: `${url}x` }).end();
      await fails(`${siteUrl}/a`, 'too many redirects');
      expect(asked).toHaveLength(6);
    });

    it.each([
      ['not a URL', 'not a valid URL'],
      ['file:///etc/passwd', 'Only http and https'],
      ['http://user:pass@example.com/', 'user name or a password'],
    ])('for %s', async (url, says) => {
      await fails(url, says);
    });

    it('for compressed bytes, which it did not request', async () => {
      serve = (_request, response) =>
        response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(1_000_000)));
      await fails(siteUrl, 'compressed');
    });

    it('for a page that never ends', async () => {
      serve = (_request, response) => {
        const write = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(262_144, 'x')));
        };
        response.on('drain', write);
        write();
      };
      await fails(siteUrl, 'larger than');
    });

    it('for a page that does not arrive', async () => {
      serve = (_request, response) => void response.write('<html>');
      await fails(siteUrl, 'in time');
    });

    it('for an image', async () => {
      serve = (_request, response) =>
        response.setHeader('content-type', 'image/png').end(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
      await fails(siteUrl, 'PNG image');
    });

    it('for an empty page', async () => {
      serve = (_request, response) => response.end();
      await fails(siteUrl, 'empty');
    });

    it('for a page without text', async () => {
      serve = (_request, response) =>
        response.setHeader('content-type', 'text/html').end('<html><script>x</script></html>');
      await fails(siteUrl, 'no text');
    });

    it('for a host that the request does not allow, also after a redirect', async () => {
      await fails(siteUrl, 'is not allowed for this request', {}, { allowed_domains: ['example.com'] });
      await fails(siteUrl, 'is not allowed for this request', {}, { blocked_domains: ['127.0.0.1'] });
      expect(asked).toEqual([]);
      serve = (_request, response) => response.writeHead(302, { location: 'https://example.com/' }).end();
      await fails(siteUrl, 'example.com', {}, { allowed_domains: ['127.0.0.1'] });
    });
  });

  it('shortens a long page to max_content_tokens, and says so', async () => {
    serve = (_request, response) => response.setHeader('content-type', 'text/plain').end('word '.repeat(100_000));
    const short = await read(siteUrl, { max_content_tokens: 100 });
    expect(String(short.result['content']).length).toBeLessThan(1000);
    expect(short.result['content']).toContain('left out');
    const usual = await read(siteUrl);
    expect(String(usual.result['content']).length).toBeLessThan(200_000);
    const most = await read(siteUrl, { max_content_tokens: 10_000_000 });
    expect(String(most.result['content']).length).toBeLessThan(300_000);
  });

  it('fetches at most max_uses pages', async () => {
    const { served, sent } = await run(
      { tools: [{ ...tool, parameters: { max_uses: 1 } }] },
      { calls: [call('router_web_fetch', { url: siteUrl }), call('router_web_fetch', { url: `${siteUrl}/2` })] },
      answering,
    );
    expect(asked).toHaveLength(1);
    expect(shownItems(served)).toMatchObject([
      { httpStatus: 200 },
      { error: expect.stringContaining('max_uses') },
      { type: 'message' },
    ]);
    expect(sent[1]).toContain('max_uses');
  });

  it.each<[object, string, string]>([
    [{ engine: 'exa' }, 'engine', 'no configured service'],
    [{ max_uses: -1 }, 'max_uses', '0 or more'],
    [{ max_content_tokens: 0 }, 'max_content_tokens', '1 or more'],
    [{ allowed_domains: ['a b'] }, 'allowed_domains[0]', 'no domain'],
    [{ engine: 'bing' }, 'engine', 'one of'],
  ])('rejects the parameters %j', async (parameters, path, says) => {
    const { served } = await run({ tools: [{ ...tool, parameters }] });
    expect(served.status).toBe(400);
    expect(served.body.error?.metadata?.['issues']).toMatchObject([
      { path: `tools[0].parameters.${path}`, message: expect.stringContaining(says) },
    ]);
  });

  it('is added by the plugin web-fetch, with its settings', async () => {
    const plugins = [{ id: 'web-fetch', max_uses: 1, blocked_domains: ['example.com'] }];
    const two = [call('router_web_fetch', { url: 'https://example.com/' }), call('router_web_fetch', { url: siteUrl })];
    const { served, sent } = await run({ tools: undefined, plugins }, { calls: two }, answering);

    expect(sent[0]).toContain('router_web_fetch');
    expect(shownItems(served)).toMatchObject([
      { error: expect.stringContaining('example.com') },
      { error: expect.stringContaining('max_uses') },
      { type: 'message' },
    ]);
    const off = await run({ tools: undefined, plugins: [{ id: 'web-fetch', enabled: false }] }, answering);
    expect(off.sent[0]).not.toContain('router_web_fetch');
    const own = await run({ plugins }, fetching(siteUrl), fetching(siteUrl), answering);
    expect(shownItems(own.served)).toMatchObject([{ httpStatus: 200 }, { httpStatus: 200 }, {}]); // its own tool wins
    const wrong = await run({ tools: undefined, plugins: [{ id: 'web-fetch', max_uses: -1 }] });
    expect(wrong.served.status).toBe(400);
  });

  it('replays the pages that an earlier response has read', async () => {
    const first = await run({}, fetching(siteUrl), answering);
    const input = [
      { role: 'user', content: 'Read it.' },
      ...shownItems(first.served),
      { role: 'user', content: 'And?' },
    ];
    const { sent } = await run({ input }, answering);
    expect(sent[0]).toContain('Sogn');
    expect(sent[0]!.match(/router_web_fetch/g)!.length).toBeGreaterThan(1);
  });
});

it('is rejected by the model, not by the request, if the operator fetches no URLs', async () => {
  const closed = await openToolLab({ outbound: { fetch: false } });
  try {
    closed.script('openai-chat', fetching(siteUrl), answering);
    const served = await closed.respond('openai-chat', 'buffered', { tools: [tool] });
    expect(shownItems(served)[0]).toMatchObject({ error: expect.stringContaining('outbound.fetch') });
    expect(asked).toEqual([]);
  } finally {
    await closed.close();
  }
});
