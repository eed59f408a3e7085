import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { checkFileBucket } from '../../src/cli/checks/file-bucket.ts';
import { openObjects } from '../../src/compose/open-objects.ts';
import { loadConfig } from '../../src/config/load.ts';
import { startS3Server, type TestS3Server } from './s3-server.ts';

let server: TestS3Server;
beforeAll(async () => {
  server = await startS3Server();
});
afterAll(async () => await server[Symbol.asyncDispose]());
afterEach(() => {
  server.fail = () => undefined;
  server.requests.length = 0;
});

const load = (url: string, env: Record<string, string> = {}) =>
  loadConfig({
    file: null,
    cwd: import.meta.dirname,
    env: {
      HEADGATE_FILES_URL: url,
      AWS_ENDPOINT_URL: server.url,
      AWS_REGION: server.region,
      AWS_ACCESS_KEY_ID: server.accessKeyId,
      AWS_SECRET_ACCESS_KEY: server.secretAccessKey,
      ...env,
    },
  }).config;

describe('headgate doctor', () => {
  it('lists the bucket, and writes to it only on request', async () => {
    const config = load('s3://bucket/gate');
    expect(await checkFileBucket(config, { probe: false })).toEqual([
      { status: 'ok', subject: 'files', says: `s3://bucket/gate at ${server.url} can be listed` },
    ]);
    expect(server.requests.map(({ method }) => method)).toEqual(['GET']);
    expect(await checkFileBucket(config, { probe: true })).toMatchObject([
      { status: 'ok', says: expect.stringContaining('stores and returns objects') },
    ]);
    expect(server.objects.size).toBe(0);
  });

  it('has nothing to say about a folder', async () => {
    expect(await checkFileBucket(load('file:x'), { probe: true })).toEqual([]);
  });

  it.each([
    ['s3://other', {}, 'Create the bucket'],
    ['s3://bucket', { AWS_SECRET_ACCESS_KEY: 'wrong secret' }, 'Check files.s3.access_key_id and secret_access_key'],
    ['s3://bucket', { AWS_ENDPOINT_URL: 'http://127.0.0.1:1' }, 'Check files.s3.endpoint'],
  ])('says how to repair %s with %j', async (url, env, fix) => {
    const [finding] = await checkFileBucket(load(url, env), { probe: false });
    expect(finding).toMatchObject({ status: 'fail', fix: expect.stringContaining(fix) });
    expect(JSON.stringify(finding)).not.toContain('wrong secret');
  });

  it('says what cannot be written', async () => {
    server.fail = ({ method }) => (method === 'PUT' ? { status: 403, code: 'AccessDenied' } : undefined);
    const [finding] = await checkFileBucket(load('s3://bucket'), { probe: true });
    expect(finding).toMatchObject({ status: 'fail', fix: expect.stringContaining('read, write and delete') });
  });
});

describe('the bucket of files.url', () => {
  it('has the objects below its prefix', async () => {
    const objects = openObjects(load('s3://bucket/one/two/'));
    const content = async function* () {
      yield Buffer.from('x');
    };
    await objects.put('files/a', content());
    expect([...server.objects.keys()]).toEqual(['one/two/files/a']);
    await objects.remove('files/a');
  });
});
