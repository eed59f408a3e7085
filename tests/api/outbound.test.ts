import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findFreePort } from '../../src/testing/free-port.ts';
import { json } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { provider, type WireName, wholeBody } from './lab.ts';

/** Targets of callers: an allowed server, and one that is not allowed. */
let files: Server;
let inside: Server;
let filesUrl: string;
let insideUrl: string;
let serve: (request: IncomingMessage, response: ServerResponse) => void;
let served: string[] = [];
let insideCount = 0;
let png: Buffer;

let upstream: ScriptedUpstream;
let gateway: TestGateway;

const listen = async (server: Server): Promise<string> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

beforeAll(async () => {
  png = await sharp({ create: { width: 8, height: 6, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  files = createServer((request, response) => {
    served.push(request.url!);
    serve(request, response);
  });
  inside = createServer((_request, response) => {
    insideCount++;
    response.end(png);
  });
  [filesUrl, insideUrl] = await Promise.all([listen(files), listen(inside)]);
  upstream = await startUpstream();
  gateway = await open();
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
  for (const server of [files, inside]) {
    server.closeAllConnections();
    server.close();
  }
});
beforeEach(() => {
  served = [];
  serve = (_request, response) => response.end(png);
  upstream.always(({ path }) => json(wholeBody(path.endsWith('/responses') ? 'openai-responses' : 'openai-chat')));
});

/** `<wire>/fetch` accepts no addresses, `<wire>/pass` accepts them. */
const providers = () => [
  provider('openai-chat', 'fetch', upstream, { urls: 'fetch' }),
  provider('openai-chat', 'pass', upstream),
  provider('openai-chat', 'keys', upstream, { urls: 'fetch', api_key: ['key-number-1', 'key-number-2'] }),
  provider('openai-chat', 'any', upstream, { urls: 'fetch', models: [{ model: 'any/*' }] }),
  provider('openai-responses', 'fetch', upstream, {
    models: [{ model: 'openai-responses/fetch', upstream_model: 'm', urls: 'fetch' }],
  }),
];
const settings = () => ({
  allow: [new URL(filesUrl).host],
  max_bytes: 64 * 1024,
  request_bytes: 100 * 1024,
  request_urls: 3,
});
const open = (outbound: object = {}, more: object = {}) =>
  testGateway({ providers: providers(), outbound: { ...settings(), ...outbound }, ...more });

const image = (url: string) => ({ type: 'input_image', image_url: url });
const message = (...content: object[]) => [{ type: 'message', role: 'user', content }];
const ask = async (content: object[], model = 'openai-chat/fetch', at = gateway, more: object = {}) => {
  const response = await at.post('/responses', { model, input: message(...content), ...more }, { headers: metadata });
  return { status: response.status, body: (await response.json()) as Answer };
};
const metadata = { 'x-router-metadata': 'enabled' };

interface Answer {
  error: { message: string; metadata: { error_type: string; param: string } };
  router_metadata: { pipeline?: object[] };
}

/** The tested part of the last request to the provider. */
const sent = (): Record<string, never> => upstream.requests.at(-1)!.body as Record<string, never>;
const asked = () => upstream.requests.length;
const dataOf = (bytes: Buffer, mediaType = 'image/png') => `data:${mediaType};base64,${bytes.toString('base64')}`;

describe('an endpoint that accepts no addresses', () => {
  it('gets the fetched data', async () => {
    const { status } = await ask([{ type: 'input_text', text: 'What is it?' }, image(`${filesUrl}/a.jpg`)]);

    expect(status).toBe(200);
    expect(sent()).toMatchObject({
      messages: [
        {
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'image_url', image_url: { url: dataOf(png) } },
          ],
        },
      ],
    });
  });

  it('can be one model of a provider', async () => {
    await ask([image(`${filesUrl}/a`)], 'openai-responses/fetch' satisfies `${WireName}/fetch`);

    expect(sent()).toMatchObject({ input: [{ content: [{ type: 'input_image', image_url: dataOf(png) }] }] });
  });

  it('can be matched by a wildcard only', async () => {
    await ask([image(`${filesUrl}/a`)], 'any/model');

    expect(JSON.stringify(sent())).toContain(dataOf(png));
  });

  it('gets files with their names', async () => {
    serve = (_request, response) => response.setHeader('content-type', 'text/csv; charset=utf-8').end('a,b');

    await ask([{ type: 'input_file', file_url: `${filesUrl}/dir/numbers.csv?x=1` }]);

    expect(sent()).toMatchObject({
      messages: [
        {
          content: [
            { type: 'file', file: { file_data: dataOf(Buffer.from('a,b'), 'text/csv'), filename: 'numbers.csv' } },
          ],
        },
      ],
    });
  });

  it('gets a PDF as such, with any Content-Type', async () => {
    serve = (_request, response) => response.setHeader('content-type', 'text/html').end('%PDF-1.7 …');

    await ask([{ type: 'input_file', file_data: `${filesUrl}/`, filename: 'mine.pdf' }]);

    expect(JSON.stringify(sent())).toContain('data:application/pdf;base64,');
    expect(JSON.stringify(sent())).toContain('"filename":"mine.pdf"');
  });

  it('gets videos', async () => {
    serve = (_request, response) => response.setHeader('content-type', 'video/mp4').end('video');

    await ask([{ type: 'input_video', video_url: `${filesUrl}/a.mp4` }]);

    expect(sent()).toMatchObject({
      messages: [{ content: [{ type: 'video_url', video_url: { url: dataOf(Buffer.from('video'), 'video/mp4') } }] }],
    });
  });

  it('gets bare base64 as a data URL, which is never a file path', async () => {
    const { status } = await ask([{ type: 'input_file', file_data: '/etc/pam', filename: 'notes.txt' }]);

    expect(status).toBe(200);
    expect(sent()).toMatchObject({
      messages: [{ content: [{ type: 'file', file: { file_data: 'data:text/plain;base64,/etc/pam' } }] }],
    });
  });

  it('gets data that the output of a tool refers to', async () => {
    const response = await gateway.post('/responses', {
      model: 'openai-responses/fetch',
      input: [
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: [image(`${filesUrl}/a`)] },
      ],
    });

    expect(response.status).toBe(200);
    expect(sent()).toMatchObject({ input: [{}, { output: [{ image_url: dataOf(png) }] }] });
  });

  it('fetches an address once if it occurs twice', async () => {
    await ask([image(`${filesUrl}/same`), image(`${filesUrl}/same`)]);

    expect(served).toEqual(['/same']);
  });

  it('fetches once if the first of its keys is rejected', async () => {
    const large = Buffer.concat([png, Buffer.alloc(60 * 1024 - png.length)]); // two of them are beyond request_bytes
    serve = (_request, response) => response.end(large);
    upstream.respond(json({ error: { message: 'Slow.' } }, { status: 429 }));
    const before = asked();

    const { status } = await ask([image(`${filesUrl}/large`)], 'openai-chat/keys');

    expect(status).toBe(200);
    expect(served).toEqual(['/large']);
    expect(asked()).toBe(before + 2);
    expect(JSON.stringify(sent())).toContain(dataOf(large));
  });

  it('is reported in the metadata', async () => {
    const { body } = await ask([image(`${filesUrl}/a`), image(`${filesUrl}/b`)]);

    expect(body.router_metadata.pipeline).toEqual([
      {
        type: 'media',
        name: 'fetch_urls',
        summary: `Fetched 2 addresses that no provider may open, ${png.length * 2} bytes in all.`,
        data: { urls: 2, bytes: png.length * 2 },
      },
    ]);
  });

  it('gets an unchanged request without addresses', async () => {
    const { status, body } = await ask([{ type: 'input_text', text: 'http://127.0.0.1/' }, image(dataOf(png))]);

    expect(status).toBe(200);
    expect(body.router_metadata.pipeline).toBeUndefined();
    expect(JSON.stringify(sent())).toContain(dataOf(png));
  });

  it('streams, too', async () => {
    upstream.respond(json({ error: { message: 'no' } }, { status: 400 }));

    const { status } = await gateway.stream({ model: 'openai-chat/fetch', input: message(image(`${filesUrl}/a`)) });

    expect(status).toBe(400);
    expect(JSON.stringify(sent())).toContain(dataOf(png));
  });
});

describe('an endpoint without this setting', () => {
  it('gets the address', async () => {
    const url = `${insideUrl}/a.png`;

    const { status } = await ask([image(url)], 'openai-chat/pass');

    expect(status).toBe(200);
    expect(sent()).toMatchObject({ messages: [{ content: [{ image_url: { url } }] }] });
    expect([served, insideCount]).toEqual([[], 0]);
  });
});

describe('a failed fetch is a 400 that names the part', () => {
  const refused = async (content: object[], at = gateway) => {
    const before = asked();
    const { status, body } = await ask(content, 'openai-chat/fetch', at);
    expect(asked()).toBe(before); // nothing reaches the provider
    return { status, message: body.error.message, ...body.error.metadata };
  };

  it.each([
    ['of this machine', () => `${insideUrl}/`],
    ['of this machine, in another spelling', () => insideUrl.replace('127.0.0.1', '2130706433')],
    ['of a metadata service', () => 'http://169.254.169.254/latest/meta-data/'],
    ['of a private network', () => 'http://[::ffff:10.0.0.1]/'],
    ['of a local name', () => 'http://vault.internal/'],
  ])('an address %s', async (_what, url) => {
    const answer = await refused([{ type: 'input_text', text: 'a' }, image(url())]);

    expect(answer.status).toBe(400);
    expect(answer.param).toBe('input[0].content[1].image_url');
    expect(answer.message).toMatch(
      /^input\[0\]\.content\[1\]\.image_url: The gateway does not fetch from that (?:host|port)\.$/,
    );
    expect(insideCount).toBe(0);
  });

  it.each([
    ['a control character before the scheme', '\u0000http://169.254.169.254/latest'],
    ['a tab inside the scheme', 'h\tttp://127.0.0.1/'],
    ['a line feed before the scheme', '\n http://127.0.0.1/'],
    ['no scheme', '//127.0.0.1/'],
    ['the path of a file', '/etc/passwd'],
    ['a relative path', 'etc'],
    ['space before the scheme data', ' data:image/png;base64,AAAA'],
  ])('an address that has %s, in every field', async (_what, url) => {
    for (const part of [
      image(url),
      { type: 'input_file', file_url: url },
      { type: 'input_file', file_data: url.length % 4 === 0 ? `${url}/x` : url },
      { type: 'input_video', video_url: url },
    ]) {
      expect(await refused([part])).toMatchObject({ status: 400, param: expect.stringMatching(/_(?:url|data)$/) });
    }
    expect([served, insideCount]).toEqual([[], 0]);
  });

  it('a file with two sources, one of which would pass unchecked', async () => {
    const file = { type: 'input_file', file_data: 'data:text/plain;base64,QQ==', file_url: `${insideUrl}/` };

    expect(await refused([file])).toMatchObject({
      status: 400,
      message: 'input[0].content[0]: A file has two sources, file_data and file_url: send one of them.',
    });
  });

  it('an address in a variable of a prompt', async () => {
    const { status, body } = await ask([], 'openai-responses/fetch', gateway, {
      prompt: { id: 'p', variables: { text: 'http://127.0.0.1/', shown: image('http://127.0.0.1/') } },
    });

    expect([status, body.error.metadata.param]).toEqual([400, 'prompt.variables.shown.image_url']);
  });

  it('a redirect to an internal address', async () => {
    serve = (_request, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end();

    expect(await refused([image(`${filesUrl}/a`)])).toMatchObject({
      status: 400,
      error_type: 'image_download_failed',
      message: 'input[0].content[0].image_url: The gateway does not fetch from that host.',
    });
  });

  it.each(['ftp://example.com/a', 'file:///etc/passwd'])('another scheme: %s', async (url) => {
    expect(await refused([image(url)])).toMatchObject({ status: 400, error_type: 'invalid_request' });
  });

  it('a response that is too large', async () => {
    serve = (_request, response) => response.end(Buffer.alloc(64 * 1024 + 1));

    expect(await refused([image(`${filesUrl}/a`)])).toMatchObject({ status: 400, error_type: 'image_too_large' });
  });

  it('responses that are too large in total', async () => {
    serve = (_request, response) => response.setHeader('content-type', 'text/plain').end(Buffer.alloc(60 * 1024, 'a'));
    const file = (name: string) => ({ type: 'input_file', file_url: `${filesUrl}/${name}` });

    expect(await refused([file('a'), file('b')])).toMatchObject({
      status: 400,
      message: expect.stringMatching(
        /^input\[0\]\.content\[[01]\]\.file_url: It is too large together with the other URLs/,
      ),
    });
  });

  it('more addresses than allowed', async () => {
    const { status, message } = await refused(['a', 'b', 'c', 'd'].map((name) => image(`${filesUrl}/${name}`)));

    expect([status, message]).toEqual([
      400,
      'input[0].content[0].image_url: No more than 3 addresses are fetched for a request.',
    ]);
    expect(served).toEqual([]);
  });

  it('a response that is no image', async () => {
    serve = (_request, response) => response.setHeader('content-type', 'image/png').end('<html>');

    expect(await refused([image(`${filesUrl}/a`)])).toMatchObject({
      status: 400,
      error_type: 'invalid_image',
      message: 'input[0].content[0].image_url: It is not an image.',
    });
  });

  it('an image in an unsupported format', async () => {
    serve = (_request, response) => response.end('<svg xmlns="http://www.w3.org/2000/svg"/>');

    expect(await refused([image(`${filesUrl}/a`)])).toMatchObject({ error_type: 'unsupported_image_format' });
  });

  it('a missing resource, with the 404 of the interface', async () => {
    serve = (_request, response) => response.writeHead(404).end('no');

    expect(await refused([image(`${filesUrl}/a`)])).toMatchObject({ status: 404, error_type: 'image_not_found' });
  });

  it('a missing file', async () => {
    serve = (_request, response) => response.writeHead(404).end('no');

    expect(await refused([{ type: 'input_file', file_url: `${filesUrl}/a` }])).toMatchObject({
      status: 400,
      error_type: 'invalid_request',
      param: 'input[0].content[0].file_url',
    });
  });

  it('a server that closes the connection', async () => {
    serve = (request) => request.socket.resetAndDestroy();

    expect(await refused([image(`${filesUrl}/a`)])).toMatchObject({
      status: 400,
      error_type: 'image_download_failed',
    });
  });

  it('a server that does not respond', async () => {
    serve = () => {};
    await gateway.reload({ providers: providers(), outbound: { ...settings(), idle_ms: 300 } });

    expect(await refused([image(`${filesUrl}/a`)])).toMatchObject({
      status: 400,
      error_type: 'image_download_failed',
      message: 'input[0].content[0].image_url: It did not arrive in time.',
    });
    await gateway.reload({ providers: providers(), outbound: settings() });
  });

  it('an unreachable server', async () => {
    const host = `127.0.0.1:${await findFreePort()}`;
    const other = await open({ allow: [host] });

    expect(await refused([image(`http://${host}`)], other)).toMatchObject({
      status: 400,
      message: 'input[0].content[0].image_url: Its host did not accept a connection.',
    });
    await other.close();
  });

  it('any address, if fetching is off', async () => {
    const other = await open({ fetch: false });

    expect(await refused([image(`${filesUrl}/a`)], other)).toMatchObject({
      status: 400,
      message:
        'input[0].content[0].image_url: openai-chat/fetch at openai-chat-fetch takes no addresses, and this gateway fetches none (outbound.fetch): send the data itself.',
    });
    expect(served).toEqual([]);
    await other.close();
  });
});

describe('several endpoints', () => {
  const same = (id: string, more: object = {}) => ({
    ...provider('openai-chat', id, upstream, more),
    models: [{ model: 'same/model', upstream_model: 'm' }],
  });
  const order = (...slugs: string[]) => ({ order: slugs, allow_fallbacks: true });
  const askSame = async (at: TestGateway, first: string) => {
    const response = await at.post('/responses', {
      model: 'same/model',
      input: message(image(`${filesUrl}/a`)),
      provider: order(first),
    });
    return response.status;
  };

  it('the next one without addresses gets the data that was fetched for the first', async () => {
    const parts = { providers: [same('one', { urls: 'fetch' }), same('two', { urls: 'fetch' })] };
    const other = await testGateway({ ...parts, outbound: settings() });
    upstream.respond(json({ error: { message: 'down' } }, { status: 503 }));

    expect(await askSame(other, 'openai-chat-one')).toBe(200);
    expect(served).toEqual(['/a']);
    expect(JSON.stringify(sent())).toContain(dataOf(png));
    await other.close();
  });

  it('one that accepts addresses is called if the gateway could not fetch', async () => {
    const parts = { providers: [same('one', { urls: 'fetch' }), same('two')] };
    const other = await testGateway({ ...parts, outbound: settings() });
    serve = (_request, response) => response.writeHead(500).end();

    expect(await askSame(other, 'openai-chat-one')).toBe(200);
    expect(sent()).toMatchObject({ messages: [{ content: [{ image_url: { url: `${filesUrl}/a` } }] }] });
    await other.close();
  });
});

describe('the operator', () => {
  it('allows and blocks addresses at run time', async () => {
    const other = await open({ allow: [] });
    expect((await ask([image(`${filesUrl}/a`)], 'openai-chat/fetch', other)).status).toBe(400);

    await other.reload({ providers: providers(), outbound: settings() });

    expect((await ask([image(`${filesUrl}/a`)], 'openai-chat/fetch', other)).status).toBe(200);
    await other.close();
  });

  it('gets an error for an invalid entry at the start', async () => {
    await expect(open({ allow: ['10.0.0.0/99'] })).rejects.toThrow(
      'outbound.allow[0]: "10.0.0.0/99" has no length from 0 to 32 after its /',
    );
  });
});

it('a client that disconnects aborts the fetch', async () => {
  const came = Promise.withResolvers<IncomingMessage>();
  serve = (request) => came.resolve(request);
  const other = await open({ idle_ms: 60_000, timeout_ms: 60_000 });
  const leave = new AbortController();
  const body = { model: 'openai-chat/fetch', input: message(image(`${filesUrl}/a`)) };
  const asking = other.post('/responses', body, { signal: leave.signal }).catch(() => undefined);
  const { socket } = await came.promise;

  leave.abort();
  await asking;
  if (!socket.destroyed) await once(socket, 'close');

  expect(socket.destroyed).toBe(true);
  await other.close();
});
