import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { testObjects } from '../../src/platform/objects/contract.ts';
import { ObjectKeyError, type Objects } from '../../src/platform/objects/objects.ts';
import { type S3Place, s3Times } from '../../src/platform/objects/s3/s3-client.ts';
import { openS3Objects } from '../../src/platform/objects/s3/s3-objects.ts';
import { PART_BYTES } from '../../src/platform/objects/s3/s3-uploads.ts';
import { type S3Failure, type S3Request, startS3Server, type TestS3Server } from './s3-server.ts';

let server: TestS3Server;
beforeAll(async () => {
  server = await startS3Server();
});
afterAll(async () => await server[Symbol.asyncDispose]());
afterEach(() => {
  server.fail = () => undefined;
  server.page = 1000;
  server.ignoresRanges = false;
  server.requests.length = 0;
  server.objects.clear();
  server.uploads.clear();
});

const locate = (change: Partial<S3Place> = {}): S3Place => ({
  endpoint: server.url,
  region: server.region,
  bucket: server.bucket,
  prefix: '',
  accessKeyId: server.accessKeyId,
  secretAccessKey: server.secretAccessKey,
  sessionToken: server.sessionToken,
  pathStyle: true,
  ...change,
});
const open = (change: Partial<S3Place> = {}): Objects => openS3Objects(locate(change), { ...s3Times, waitMs: 0 });

testObjects('s3', () => open({ prefix: 'the-prefix/é/' }));

async function* pieces(content: Buffer | string, size = 100_000): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(content);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Fails the first requests of a kind. */
function failFirst(count: number, failure: S3Failure, matches: (request: S3Request) => boolean = () => true): void {
  let left = count;
  server.fail = (request) => (matches(request) && left-- > 0 ? failure : undefined);
}

const count = (matches: (request: S3Request) => boolean): number => server.requests.filter(matches).length;
const isPart = ({ query }: S3Request): boolean => query.has('partNumber');
const isCompletion = ({ method, query }: S3Request): boolean => method === 'POST' && query.has('uploadId');

describe('objects in S3', () => {
  it('have names below the prefix, without special characters', async () => {
    const objects = open({ prefix: 'gate/' });
    const keys = [
      'plain/a+b',
      'sp ace/100%',
      'tilde~',
      '..',
      '.',
      'line\nfeed',
      'emoji \u{1f511}',
      "a!'()*",
      'q?=&#;,@',
    ];
    for (const key of keys) await objects.put(key, pieces(key));
    expect([...server.objects.keys()].sort()).toEqual(
      [
        'gate/plain/a+b',
        'gate/sp!Wace/100%',
        'gate/tilde~0',
        'gate/.-.',
        'gate/.-',
        'gate/line!Afeed',
        'gate/emoji!W\u{1f511}',
        "gate/a!X'()*",
        'gate/q?=&#;,@',
      ].sort(),
    );
    expect((await objects.list({ prefix: '', limit: 100 })).map(({ key }) => key).sort()).toEqual(keys.sort());
    for (const key of keys) {
      expect((await buffer((await objects.open(key))!.content)).toString()).toBe(key);
      await objects.remove(key);
    }
    expect(server.objects.size).toBe(0);
  });

  it('of other programs are not listed', async () => {
    const objects = open();
    await objects.put('a/ours', pieces('x'));
    for (const name of ['a/!!', 'a/~', 'a/zz~']) server.objects.set(name, server.objects.get('a/ours')!);
    server.page = 1;
    expect(await objects.list({ prefix: '', limit: 2 })).toMatchObject([{ key: 'a/ours', bytes: 1 }]);
  });

  it('are listed over the pages of the server', async () => {
    const objects = open({ prefix: 'p/' });
    const keys = Array.from({ length: 10 }, (_, index) => `k/${index}`);
    for (const key of keys) await objects.put(key, pieces('x'));
    server.page = 3;
    expect((await objects.list({ prefix: 'k', limit: 8 })).map(({ key }) => key)).toEqual(keys.slice(0, 8));
    expect((await objects.list({ prefix: '', after: 'k/7', limit: 8 })).map(({ key }) => key)).toEqual(keys.slice(8));
  });

  it('are sent with the token of temporary credentials', async () => {
    await using temporary = await startS3Server({ sessionToken: 'token=1' });
    const own = { endpoint: temporary.url, sessionToken: 'token=1' };
    await open(own).put('a', pieces('x'));
    expect(temporary.objects.size).toBe(1);
    await expect(open({ ...own, sessionToken: 'other' }).put('a', pieces('x'))).rejects.toThrow('403 InvalidToken');
  });

  it('reject names that are too long with the prefix', async () => {
    const key = `${'y'.repeat(250)}/`.repeat(4).slice(0, -1);
    await expect(open({ prefix: 'long-prefix/of/22bytes/' }).put(key, pieces('x'))).rejects.toThrow(ObjectKeyError);
    expect(await open().put(key, pieces('x'))).toBe(1);
  });

  it.each([
    ['another secret', { secretAccessKey: 'x' }, '403 SignatureDoesNotMatch'],
    ['another key', { accessKeyId: 'x' }, '403 AccessDenied'],
    ['another bucket', { bucket: 'other' }, '404 NoSuchBucket'],
  ])('are not accessible with %s, which is no missing object', async (_, change, reason) => {
    const objects = open(change);
    const message = `of an object of the bucket ${'bucket' in change ? change.bucket : 'bucket'} at ${new URL(server.url).host} failed: the server responded with ${reason}.`;
    await expect(objects.put('a', pieces('x'))).rejects.toThrow(`PUT ${message}`);
    await expect(objects.open('a')).rejects.toThrow(`GET ${message}`);
    await expect(objects.remove('a')).rejects.toThrow(reason);
    await expect(objects.list({ prefix: '', limit: 1 })).rejects.toThrow(`GET of the bucket`);
    await expect(objects.removeLeftovers(0)).rejects.toThrow(reason);
    expect(count(() => true)).toBe(0);
  });
});

describe('large objects in S3', () => {
  const large = randomBytes(2 * PART_BYTES + 3);

  it.each([
    [PART_BYTES, 0],
    [PART_BYTES + 1, 2],
    [2 * PART_BYTES, 2],
    [2 * PART_BYTES + 3, 3],
  ])('of %i bytes are uploaded in %i parts', async (bytes, parts) => {
    const objects = open();
    const content = large.subarray(0, bytes);
    expect(await objects.put('large', pieces(content, 1_000_001))).toBe(bytes);
    expect(count(isPart)).toBe(parts);
    expect(server.objects.get('large')!.bytes.equals(content)).toBe(true);
    expect(server.uploads.size).toBe(0);
  });

  it('are read from the stream no faster than they are sent', async () => {
    let read = 0;
    const stored: number[] = [];
    server.fail = (request) => {
      if (isPart(request)) stored.push(read);
      return undefined;
    };
    async function* counted(): AsyncGenerator<Buffer> {
      for await (const piece of pieces(large, 1_000_000)) {
        read += piece.length;
        yield piece;
      }
    }
    await open().put('large', counted());
    expect(stored).toEqual(
      [6_000_000, 11_000_000, large.length].map((most) => expect.toSatisfy((at: number) => at <= most)),
    );
  });

  it('keep the earlier content and no parts if the stream fails', async () => {
    const objects = open();
    await objects.put('large', pieces('first'));
    async function* failing(): AsyncGenerator<Buffer> {
      yield* pieces(large);
      throw new Error('the client disconnected');
    }
    await expect(objects.put('large', failing())).rejects.toThrow('the client disconnected');
    expect(count(isPart)).toBe(2);
    expect(server.uploads.size).toBe(0);
    expect(server.objects.get('large')!.bytes.toString()).toBe('first');
  });

  it('keep the earlier content and no parts if a part is rejected, and end the stream', async () => {
    failFirst(1, { status: 403, code: 'AccessDenied' }, isPart);
    let isEnded = false;
    async function* watched(): AsyncGenerator<Buffer> {
      try {
        yield* pieces(large);
      } finally {
        isEnded = true;
      }
    }
    await expect(open().put('large', watched())).rejects.toThrow('AccessDenied');
    expect(isEnded).toBe(true);
    expect(server.uploads.size).toBe(0);
    expect(server.objects.size).toBe(0);
  });

  it('survive a lost response of each call', async () => {
    for (const matches of [
      ({ query }: S3Request) => query.has('uploads'),
      isPart,
      isCompletion,
      ({ method, query }: S3Request) => method === 'PUT' && !query.has('partNumber'),
    ]) {
      failFirst(1, 'lose', matches);
      await open().put('large', pieces(large));
      await open().put('small', pieces('x'));
      expect(server.objects.get('large')!.bytes.equals(large)).toBe(true);
      expect(server.objects.get('small')!.bytes.toString()).toBe('x');
    }
  });

  it('are a failure if another upload has replaced the one whose completion was lost', async () => {
    failFirst(1, 'lose', isCompletion);
    const other = server.objects;
    server.objects = new Map([['large', { bytes: Buffer.from('other'), modifiedAt: new Date(), metadata: {} }]]);
    const before = server.fail;
    server.fail = (request) => {
      if (request.method === 'HEAD') server.objects.get('large')!.metadata = { 'x-amz-meta-headgate-upload': 'other' };
      return before(request);
    };
    await expect(open().put('large', pieces(large))).rejects.toThrow('NoSuchUpload');
    server.objects = other;
  });

  it('fail if the completion fails after its status was sent', async () => {
    server.fail = (request) => (isCompletion(request) ? { status: 200, code: 'InternalError' } : undefined);
    await expect(open().put('large', pieces(large))).rejects.toThrow('200 InternalError');
    expect(count(isCompletion)).toBe(4);
    expect(server.objects.size).toBe(0);
    expect(server.uploads.size).toBe(0);
  });

  it('leave uploads that removeLeftovers aborts, except those that are still written', async () => {
    const objects = open({ prefix: 'gate/' });
    const place = (name: string, startedMs: number, partMs?: number) => {
      const at = (ms: number) => new Date(Date.now() - ms);
      const part = { bytes: Buffer.from('x'), modifiedAt: at(partMs ?? 0), metadata: {} };
      const parts = new Map(
        partMs === undefined ? [] : [[1, { ...part, modifiedAt: at(startedMs) }] as const, [2, part] as const],
      );
      server.uploads.set(name, { name, startedAt: at(startedMs), metadata: {}, parts });
    };
    place('gate/old', 7_200_000);
    place('gate/slow-é', 7_200_000, 1000);
    place('gate/stuck', 9_000_000, 7_200_000);
    place('gate/young', 1000);
    place('gate/future', -5000, -5000);
    place('other/old', 7_200_000);
    server.page = 1;
    await objects.removeLeftovers(3_600_000);
    expect([...server.uploads.keys()]).toEqual(['gate/slow-é', 'gate/young', 'gate/future', 'other/old']);
    await objects.removeLeftovers(0);
    expect([...server.uploads.keys()]).toEqual(['other/old']);
  });
});

describe('calls of S3', () => {
  const failures: S3Failure[] = [
    { status: 500 },
    { status: 500, code: 'InternalError' },
    { status: 503, code: 'SlowDown', retryAfter: '0' },
    { status: 400, code: 'RequestTimeout' },
    { status: 429 },
    'refuse',
  ];

  it.each(failures.map((failure) => [failure]))('are repeated after %j', async (failure) => {
    const objects = open();
    const calls: [string, () => Promise<unknown>][] = [
      ['put', async () => await objects.put('a', pieces('content'))],
      ['open', async () => (await buffer((await objects.open('a', { start: 3 }))!.content)).toString()],
      ['list', async () => (await objects.list({ prefix: '', limit: 5 })).length],
      ['remove', async () => await objects.remove('a')],
      ['leftovers', async () => await objects.removeLeftovers(0)],
    ];
    const results: unknown[] = [];
    for (const [, call] of calls) {
      failFirst(3, failure);
      results.push(await call());
    }
    expect(results).toEqual([7, 'tent', 1, undefined, undefined]);
    expect(server.requests).toHaveLength(5 * 4);
  });

  it('end after four tries', async () => {
    server.fail = () => ({ status: 503, code: 'SlowDown' });
    await expect(open().list({ prefix: '', limit: 1 })).rejects.toThrow('503 SlowDown');
    expect(server.requests).toHaveLength(4);
    server.requests.length = 0;
    server.fail = () => 'refuse';
    await expect(open().open('a')).rejects.toThrow('failed: ');
    expect(server.requests).toHaveLength(4);
  });

  it.each([400, 403, 409, 501])('are not repeated after %i', async (status) => {
    server.fail = () => ({ status, code: 'Reason' });
    await expect(open().put('a', pieces('x'))).rejects.toThrow(`${status} Reason`);
    expect(server.requests).toHaveLength(1);
  });

  it('do not wait forever for a server that does not respond', async () => {
    failFirst(1, 'hang');
    await openS3Objects(locate(), { ...s3Times, waitMs: 0, tryMs: 1000 }).put('a', pieces('x'));
    server.fail = () => 'hang';
    const impatient = openS3Objects(locate(), { ...s3Times, waitMs: 0, tryMs: 20 });
    await expect(impatient.open('a')).rejects.toThrow('ETIMEDOUT');
    expect(server.requests).toHaveLength(2 + 4);
  });

  it('repeat a listing that is cut off, and never return a part of an object as the whole', async () => {
    const objects = open();
    const content = randomBytes(300_000);
    await objects.put('a', pieces(content));
    failFirst(3, 'cut');
    expect(await objects.list({ prefix: '', limit: 5 })).toHaveLength(1);
    failFirst(1, 'cut');
    const found = await objects.open('a');
    await expect(buffer(found!.content)).rejects.toThrow();
  });

  it('reject the whole object in place of a range', async () => {
    const objects = open();
    await objects.put('a', pieces('abc'));
    server.ignoresRanges = true;
    await expect(objects.open('a', { start: 1 })).rejects.toThrow('the whole object for a range');
    expect((await buffer((await objects.open('a', { start: 0, end: 9 }))!.content)).toString()).toBe('abc');
  });

  it('never show a secret', async () => {
    server.fail = () => ({ status: 403, code: 'SignatureDoesNotMatch' });
    const error: unknown = await open()
      .put('a', pieces('x'))
      .catch((thrown: unknown) => thrown);
    const { inspect } = await import('node:util');
    const shown = inspect(error, { depth: 9 });
    expect(shown).toContain('SignatureDoesNotMatch');
    for (const secret of [server.secretAccessKey, 'Signature=', 'Credential=']) expect(shown).not.toContain(secret);
  });
});
