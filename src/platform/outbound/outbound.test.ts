import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { Dial } from './connect.ts';
import { createOutbound, type FetchOptions, type OutboundOptions, type OutboundSettings } from './outbound.ts';
import { OutboundError } from './outbound-error.ts';
import type { Resolve } from './resolve.ts';
import { openSpellings, refusedNames, refusedSpellings } from './spellings.ts';
import { patient } from '../../testing/patience.ts';

const defaults: OutboundSettings = {
  allow: [],
  deny: [],
  ports: [80, 443, 8080, 8443],
  maxBytes: 64 * 1024,
  timeoutMs: patient(20_000),
  idleMs: 10_000,
  parallel: 8,
};

/** The server in place of all public ones. */
let server: Server;
let port: number;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let asked: IncomingMessage[] = [];
let dialled: [address: string, port: number][] = [];
let looked: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request);
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  answer = (_request, response) => response.end('a picture');
});
afterEach(() => {
  asked = [];
  dialled = [];
  looked = [];
});

/** Every name is public, except for those in the table. */
const resolveFrom =
  (table: Record<string, readonly string[]> = {}): Resolve =>
  async (name) => {
    looked.push(name);
    return table[name] ?? (name === 'six.example.org' ? ['2606:4700::1111'] : ['93.184.216.34']);
  };

/** Every address leads to the server. */
const dialServer: Dial = async (address, at) => {
  dialled.push([address, at]);
  const socket = connectTcp(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
};

function open({
  settings = {},
  ...more
}: Omit<Partial<OutboundOptions>, 'settings'> & { settings?: Partial<OutboundSettings> } = {}) {
  const all = { ...defaults, ...settings };
  return createOutbound({ settings: () => all, resolve: resolveFrom(), dial: dialServer, ...more });
}

const failure = (work: Promise<unknown>): Promise<OutboundError> =>
  work.then(
    () => expect.unreachable('it was fetched'),
    (error) => error,
  );
const reasonOf = async (work: Promise<unknown>): Promise<string> => (await failure(work)).reason;

describe('rejects, before any connection,', () => {
  it.each(refusedSpellings)('%s: %j', async (_what, url, reason) => {
    const error = await failure(open({ resolve: resolveFrom({}) }).fetchUrl(url));

    expect(error).toBeInstanceOf(OutboundError);
    expect(error.reason).toBe(reason);
    expect([dialled, looked]).toEqual([[], []]);
  });

  it.each(refusedNames)('a name that resolves to %s', async (_what, addresses) => {
    const resolve = resolveFrom({ 'rebind.example.org': addresses });

    const error = await failure(open({ resolve }).fetchUrl('http://rebind.example.org/'));

    expect(error.reason).toBe('unresolvable');
    expect(dialled).toEqual([]);
  });

  it.each(['http://93.184.216.34/', 'http://public.example.org/'])('an address of this machine: %s', async (url) => {
    const isOwn = (address: { toString(): string }) => address.toString() === '93.184.216.34';

    expect(await reasonOf(open({ isOwn }).fetchUrl(url))).toMatch(/^(?:blocked_address|unresolvable)$/);
    expect(dialled).toEqual([]);
    await open({ isOwn, settings: { allow: ['93.184.216.34'] } }).fetchUrl(url);
    expect(dialled).toEqual([['93.184.216.34', 80]]);
  });

  it('a URL of absurd length', async () => {
    expect(await reasonOf(open().fetchUrl(`http://example.org/${'a'.repeat(9000)}`))).toBe('invalid_url');
  });
});

describe('fetches', () => {
  it.each(openSpellings)('%s: %j', async (_what, url, address, at) => {
    const fetched = await open().fetchUrl(url);

    expect(fetched.bytes.toString()).toBe('a picture');
    expect(dialled).toEqual([[address, at]]);
  });

  it('and asks for the name of the URL, without data of the caller or the gateway', async () => {
    answer = (_request, response) => response.setHeader('content-type', 'Image/PNG; x=1').end('png');

    const fetched = await open().fetchUrl('http://public.example.org./a%20b?c=d#e', { accept: 'image/*' });

    expect(fetched).toMatchObject({ contentType: 'image/png', finalUrl: 'http://public.example.org/a%20b?c=d' });
    expect(asked[0]!.url).toBe('/a%20b?c=d');
    expect(asked[0]!.headers).toEqual({
      host: 'public.example.org',
      connection: 'keep-alive',
      accept: 'image/*',
      'accept-encoding': 'identity',
      'user-agent': 'headgate',
    });
  });

  it('from the next address of a host if one does not accept', async () => {
    const dial: Dial = async (address, ...rest) => {
      if (address !== '93.184.216.36') throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
      return dialServer(address, ...rest);
    };
    const resolve = resolveFrom({ 'many.example.org': ['93.184.216.34', '93.184.216.35', '93.184.216.36'] });

    const fetched = await open({ dial, resolve }).fetchUrl('http://many.example.org/');

    expect(fetched.bytes.toString()).toBe('a picture');
  });
});

describe('a name that changes its address', () => {
  /** Public at the first lookup, loopback afterwards. */
  const rebinding = (): Resolve => {
    let count = 0;
    return async () => (count++ === 0 ? ['93.184.216.34'] : ['127.0.0.1']);
  };

  it('is resolved once per hop, and the connection goes to the checked address', async () => {
    const outbound = open({ resolve: rebinding() });

    await outbound.fetchUrl('http://rebind.example.org/');

    expect(dialled).toEqual([['93.184.216.34', 80]]);
    expect(await reasonOf(outbound.fetchUrl('http://rebind.example.org/'))).toBe('unresolvable');
  });

  it('is checked again when it redirects to itself', async () => {
    answer = (_request, response) => response.writeHead(302, { location: '/again' }).end();

    expect(await reasonOf(open({ resolve: rebinding() }).fetchUrl('http://rebind.example.org/'))).toBe('unresolvable');
    expect(asked).toHaveLength(1);
  });

  it('never reaches the internal server', async () => {
    let count = 0;
    // The first address is open and not in use. The second is that of the server.
    const outbound = createOutbound({
      settings: () => settings,
      resolve: async () => [count++ === 0 ? '127.0.0.2' : '127.0.0.1'],
    });
    const settings = { ...defaults, allow: [`127.0.0.2:${port}`] };

    expect(await reasonOf(outbound.fetchUrl(`http://rebind.example.org:${port}/`))).toBe('unreachable');
    expect(await reasonOf(outbound.fetchUrl(`http://rebind.example.org:${port}/`))).toBe('unresolvable');
    expect(count).toBe(2);
    expect(asked).toEqual([]);
  });
});

describe('redirects', () => {
  const redirect = (location: string, status = 302) => {
    answer = (request, response) =>
      request.url === '/start' ? response.writeHead(status, { location }).end() : response.end('the end');
  };

  it.each([301, 302, 303, 307, 308])('are followed by the gateway itself: %i', async (status) => {
    redirect('//other.example.org:8080/end?x', status);

    const fetched = await open().fetchUrl('http://public.example.org/start');

    expect(fetched).toMatchObject({ finalUrl: 'http://other.example.org:8080/end?x' });
    expect(asked.map(({ headers }) => headers.host)).toEqual(['public.example.org', 'other.example.org:8080']);
  });

  it.each(
    refusedSpellings.filter(([, url]) => URL.canParse(url)),
  )('into %s are rejected: %j', async (_what, url, reason) => {
    redirect(/^http:\/\/[!-~]+$/.test(url) ? url : URL.parse(url)!.href);

    expect(await reasonOf(open().fetchUrl('http://public.example.org/start'))).toBe(reason);
    expect(asked).toHaveLength(1);
  });

  it('to a name that resolves to a private address are rejected', async () => {
    redirect('http://inside.example.org/');
    const resolve = resolveFrom({ 'inside.example.org': ['10.0.0.1'] });

    expect(await reasonOf(open({ resolve }).fetchUrl('http://public.example.org/start'))).toBe('unresolvable');
  });

  it('are followed five times', async () => {
    answer = (request, response) => {
      const count = Number(request.url!.slice(1));
      if (count === 0) response.end('the end');
      else response.writeHead(302, { location: `/${count - 1}` }).end();
    };

    expect((await open().fetchUrl('http://public.example.org/5')).bytes.toString()).toBe('the end');
    expect(await reasonOf(open().fetchUrl('http://public.example.org/6'))).toBe('too_many_redirects');
  });

  it('in a circle end', async () => {
    answer = (_request, response) => response.writeHead(302, { location: '/' }).end();

    expect(await reasonOf(open().fetchUrl('http://public.example.org/'))).toBe('too_many_redirects');
    expect(asked).toHaveLength(6);
  });

  it('into loopback without a scheme are rejected', async () => {
    redirect(`//127.0.0.1:${port}/`);

    expect(await reasonOf(open({ settings: { ports: [80, port] } }).fetchUrl('http://public.example.org/start'))).toBe(
      'blocked_address',
    );
  });

  it('without a target are rejected', async () => {
    redirect('http://[::1');

    expect(await reasonOf(open().fetchUrl('http://public.example.org/start'))).toBe('invalid_url');
  });

  it('carry no cookie', async () => {
    answer = (request, response) =>
      request.url === '/start'
        ? response.writeHead(302, { location: '/end', 'set-cookie': 'a=b' }).end()
        : response.end('the end');

    await open().fetchUrl('http://public.example.org/start');

    expect(asked[1]!.headers).not.toHaveProperty('cookie');
    expect(asked[1]!.headers).not.toHaveProperty('referer');
  });
});

describe('bounds', () => {
  const get = (options?: FetchOptions, settings?: Partial<OutboundSettings>) =>
    open({ ...(settings && { settings }) }).fetchUrl('http://public.example.org/', options);

  it('a body that is too large by its content-length is not read', async () => {
    answer = (_request, response) => response.writeHead(200, { 'content-length': '65537' }).write('a');

    expect(await reasonOf(get())).toBe('too_large');
  });

  it('a body that is too large without a content-length is counted, and interrupted', async () => {
    let sent = 0;
    answer = (_request, response) => {
      const piece = Buffer.alloc(16 * 1024);
      const more = () => {
        while (!response.destroyed) {
          sent += piece.length;
          if (!response.write(piece)) return void response.once('drain', more);
        }
      };
      more();
    };

    const error = await failure(get());

    expect(error.reason).toBe('too_large');
    expect(error.message).toBe('It is larger than 65536 bytes.');
    expect(sent).toBeLessThan(16 * 1024 * 1024); // buffers of the kernel; the server would send forever
  });

  it('exactly the limit passes', async () => {
    answer = (_request, response) => response.end(Buffer.alloc(64 * 1024));

    expect((await get()).bytes).toHaveLength(64 * 1024);
    expect(await reasonOf(get({ maxBytes: 64 * 1024 - 1 }))).toBe('too_large');
  });

  it('a caller cannot raise the limit', async () => {
    answer = (_request, response) => response.end(Buffer.alloc(64 * 1024 + 1));

    expect(await reasonOf(get({ maxBytes: 1_000_000 }))).toBe('too_large');
  });

  it.each([
    'gzip',
    'deflate',
    'br',
    'zstd',
    'x-unknown',
  ])('a body in %s is not decompressed but rejected', async (encoding) => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    answer = (_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(bomb);

    expect(await reasonOf(get())).toBe('encoded');
  });

  it('a body that is shorter than its content-length is rejected', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('short', () => response.destroy());
    };

    expect(await reasonOf(get())).toBe('broken_answer');
  });

  it('a reset connection is reported', async () => {
    answer = (request) => (request.socket as Socket).resetAndDestroy();

    expect(await reasonOf(get())).toBe('broken_answer');
  });

  it('invalid HTTP is reported', async () => {
    const odd = createTcpServer((socket) => socket.end('220 mail ready\r\n\r\n')).listen(0, '127.0.0.1');
    await once(odd, 'listening');
    const dial: Dial = async () => {
      const socket = connectTcp((odd.address() as AddressInfo).port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    };

    expect(await reasonOf(open({ dial }).fetchUrl('http://public.example.org/'))).toBe('broken_answer');
    odd.close();
  });

  it('headers without end are rejected', async () => {
    answer = (_request, response) => response.writeHead(200, { a: 'a'.repeat(100_000) }).end('a');

    expect(await reasonOf(get())).toBe('broken_answer');
  });

  it.each([
    [204, 'empty'],
    [206, 'bad_status'],
    [304, 'bad_status'],
    [401, 'bad_status'],
    [404, 'not_found'],
    [410, 'not_found'],
    [500, 'bad_status'],
  ])('status %i is %s', async (status, reason) => {
    answer = (_request, response) => response.writeHead(status).end(status === 204 ? undefined : 'words');

    expect(await reasonOf(get())).toBe(reason);
  });

  it('an empty body is not a file', async () => {
    answer = (_request, response) => response.end();

    expect(await reasonOf(get())).toBe('empty');
  });

  it('an unresponsive server times out', async () => {
    answer = () => {};

    expect(await reasonOf(get({}, { idleMs: 50 }))).toBe('timeout');
  });

  it('a server that becomes silent times out', async () => {
    answer = (_request, response) => response.write('a');

    expect(await reasonOf(get({}, { idleMs: 50 }))).toBe('timeout');
  });

  it('a slow body is interrupted by the total timeout', async () => {
    const drips: NodeJS.Timeout[] = [];
    answer = (_request, response) => void drips.push(setInterval(() => response.write('a'), 10));

    expect(await reasonOf(get({ timeoutMs: 150 }))).toBe('timeout');
    drips.forEach(clearInterval);
  });

  it('an unresponsive resolver times out', async () => {
    const resolve: Resolve = () => new Promise(() => {});

    expect(await reasonOf(open({ resolve, settings: { timeoutMs: 50 } }).fetchUrl('http://a.example.org/'))).toBe(
      'timeout',
    );
  });

  it('a host that never accepts times out', async () => {
    const dial: Dial = (_address, _port, _ms, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

    expect(await reasonOf(open({ dial, settings: { timeoutMs: 50 } }).fetchUrl('http://a.example.org/'))).toBe(
      'timeout',
    );
  });

  it('the connection is closed at once, in any case', async () => {
    answer = (_request, response) => response.write('a');
    const outbound = open({ settings: { idleMs: 50 } });

    await failure(outbound.fetchUrl('http://public.example.org/'));
    if (!asked[0]!.socket.destroyed) await once(asked[0]!.socket, 'close');

    expect(asked[0]!.socket.destroyed).toBe(true);
  });

  it('ends with its run, with the reason of the run', async () => {
    const cancellation = new Cancellation();
    const reason = new GatewayError('client_closed', 'The client disconnected.');
    answer = () => cancellation.cancel(reason);

    const error = await failure(get({ cancellation }));

    expect(error).toBe(reason);
    expect(await failure(get({ cancellation }))).toBe(reason);
  });

  it('the number of parallel fetches is limited; the others wait', async () => {
    const held: ServerResponse[] = [];
    let come = Promise.withResolvers<void>();
    answer = (_request, response) => {
      held.push(response);
      come.resolve();
    };
    const outbound = open({ settings: { parallel: 1 } });
    const first = outbound.fetchUrl('http://public.example.org/1');
    const second = outbound.fetchUrl('http://public.example.org/2');
    await come.promise;
    expect(asked.map(({ url }) => url)).toEqual(['/1']);

    come = Promise.withResolvers();
    held[0]!.end('one');
    await first;
    await come.promise;
    held[1]!.end('two');

    expect((await second).bytes.toString()).toBe('two');
  });

  it('a fetch that is cancelled while it waits leaves the queue', async () => {
    answer = () => {};
    const outbound = open({ settings: { parallel: 1 } });
    const first = failure(outbound.fetchUrl('http://public.example.org/1', { timeoutMs: 400 }));

    expect(await reasonOf(outbound.fetchUrl('http://public.example.org/2', { timeoutMs: 20 }))).toBe('timeout');
    expect((await first).reason).toBe('timeout');
    answer = (_request, response) => response.end('free');
    expect((await outbound.fetchUrl('http://public.example.org/3')).bytes.toString()).toBe('free');
  });
});

describe('what the operator opens', () => {
  /** The real connector, to the server of this test. */
  const use = (allow: string[], more: Partial<OutboundSettings> = {}, resolve = resolveFrom()) => {
    const settings = { ...defaults, allow, ...more };
    return createOutbound({ settings: () => settings, resolve });
  };

  it('an address with its port', async () => {
    const fetched = await use([`127.0.0.1:${port}`]).fetchUrl(`http://127.0.0.1:${port}/`);

    expect(fetched.bytes.toString()).toBe('a picture');
    expect(await reasonOf(use([`127.0.0.1:${port}`]).fetchUrl('http://127.0.0.1:80/'))).toBe('blocked_address');
    expect(await reasonOf(use([`127.0.0.1:${port}`]).fetchUrl(`http://127.0.0.2:${port}/`))).toBe('blocked_address');
    expect(await reasonOf(use([`127.0.0.1:${port}`]).fetchUrl(`http://93.184.216.34:${port}/`))).toBe('blocked_port');
  });

  it('an address with its port, in another spelling', async () => {
    const fetched = await use([`127.0.0.1:${port}`]).fetchUrl(`http://0x7f.1:${port}/`);

    expect(fetched.finalUrl).toBe(`http://127.0.0.1:${port}/`);
  });

  it('a network, at the ports that are open', async () => {
    const fetched = await use(['127.0.0.0/8'], { ports: [port] }).fetchUrl(`http://127.0.0.1:${port}/`);

    expect(fetched.bytes.toString()).toBe('a picture');
  });

  it('a name, which may then resolve to a private address', async () => {
    const outbound = use([`files.internal:${port}`], {}, async (_name, isOpened) => (isOpened ? ['127.0.0.1'] : []));

    expect((await outbound.fetchUrl(`http://files.internal:${port}/`)).bytes.toString()).toBe('a picture');
    expect(await reasonOf(outbound.fetchUrl(`http://127.0.0.1:${port}/`))).toBe('blocked_address');
    expect(await reasonOf(outbound.fetchUrl(`http://a.files.internal:${port}/`))).toBe('blocked_address');
    expect(await reasonOf(outbound.fetchUrl('http://files.internal/'))).toBe('blocked_address');
  });

  it('all names below one, but not the name itself', async () => {
    const outbound = use([`*.files.internal:${port}`], {}, async () => ['127.0.0.1']);

    expect((await outbound.fetchUrl(`http://a.files.internal:${port}/`)).bytes.toString()).toBe('a picture');
    expect(await reasonOf(outbound.fetchUrl(`http://files.internal:${port}/`))).toBe('blocked_address');
    expect(await reasonOf(outbound.fetchUrl(`http://evilfiles.internal:${port}/`))).toBe('blocked_address');
  });

  it.each([
    '169.254.169.254',
    '169.254.1.1',
    '0.0.0.0',
    '224.0.0.1',
    '::ffff:10.0.0.1',
    '168.63.129.16',
  ])('a name never opens %s', async (address) => {
    const resolve = resolveFrom({ 'files.internal': [address] });

    const outbound = open({ resolve, settings: { allow: ['files.internal'] } });

    expect(await reasonOf(outbound.fetchUrl('http://files.internal/'))).toBe('unresolvable');
    expect(dialled).toEqual([]);
  });

  it.each([
    ['169.254.169.254', '169.254.0.0/16'],
    ['169.254.169.254', '0.0.0.0/0'],
    ['100.100.100.200', '100.64.0.0/10'],
    ['[fd00:ec2::254]', 'fd00::/8'],
    ['168.63.129.16', '168.63.0.0/16'],
  ])('the metadata service %s is not opened by its network %s, only by itself', async (host, network) => {
    expect(await reasonOf(open({ settings: { allow: [network] } }).fetchUrl(`http://${host}/`))).toBe(
      'blocked_address',
    );
    await open({ settings: { allow: [host] } }).fetchUrl(`http://${host}/`);
    expect(dialled).toHaveLength(1);
  });

  it('a network by IPv6, with a port', async () => {
    await open({ settings: { allow: ['[fd00::/8]:9000'] } }).fetchUrl('http://[fd12::1]:9000/');
    expect(dialled).toEqual([['fd12::1', 9000]]);
  });

  it.each([
    ['93.184.216.0/24', 'http://93.184.216.34/', 'blocked_address'],
    ['public.example.org', 'http://public.example.org/', 'blocked_address'],
    ['*.example.org', 'http://public.example.org/', 'blocked_address'],
    ['93.184.216.0/24', 'http://public.example.org/', 'unresolvable'],
  ])('a denied address is closed, even if it is allowed: %s for %s', async (deny, url, reason) => {
    const allow = ['93.184.216.34', 'public.example.org'];

    expect(await reasonOf(open({ settings: { deny: [deny], allow } }).fetchUrl(url))).toBe(reason);
    expect(dialled).toEqual([]);
  });

  it.each([
    '',
    ' ',
    '10.0.0.0/33',
    '10.0.0.1/',
    'http://a/',
    'a b',
    '*',
    'a:0',
    'a:70000',
    '10.1',
    '*.1',
    '[::1',
    '1.2.3.4.5',
  ])('an invalid entry is reported to the operator: %j', async (entry) => {
    await expect(open({ settings: { allow: [entry] } }).fetchUrl('http://a.example.org/')).rejects.toThrow(
      JSON.stringify(entry),
    );
  });
});

describe('tells', () => {
  it('the same for an unknown name and one that resolves to a private address', async () => {
    const resolve: Resolve = async (name) => {
      if (name === 'inside.example.org') return ['10.0.0.1'];
      throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
    };
    const outbound = open({ resolve });

    const unknown = await failure(outbound.fetchUrl('http://unknown.example.org/'));
    const inside = await failure(outbound.fetchUrl('http://inside.example.org/'));

    expect([inside.reason, inside.message]).toEqual([unknown.reason, unknown.message]);
    expect(inside.message).not.toContain('10.0.0.1');
  });

  it('the operator which URL it was, without path and query', async () => {
    const told: object[] = [];
    const resolve = resolveFrom({ 'inside.example.org': ['10.0.0.1'] });

    await failure(open({ resolve, report: (one) => told.push(one) }).fetchUrl('http://inside.example.org/a?secret=b'));

    expect(told).toEqual([
      {
        reason: 'unresolvable',
        origin: 'http://inside.example.org',
        detail: 'inside.example.org resolves to 10.0.0.1, which is not open',
      },
    ]);
  });
});
