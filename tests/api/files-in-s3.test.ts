import { afterAll, beforeAll, expect, it } from 'vitest';
import { sweepFiles } from '../../src/management/files/sweep-files.ts';
import { openS3Objects } from '../../src/platform/objects/s3/s3-objects.ts';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { startS3Server, type TestS3Server } from '../objects/s3-server.ts';
import { type Json, main } from './manage.ts';

let server: TestS3Server;
let gateway: TestGateway;
beforeAll(async () => {
  server = await startS3Server();
  gateway = await testGateway({
    files: {
      url: 's3://bucket/gate',
      s3: {
        endpoint: server.url,
        region: server.region,
        access_key_id: server.accessKeyId,
        secret_access_key: server.secretAccessKey,
      },
    },
  });
});
afterAll(async () => {
  await gateway.close();
  await server[Symbol.asyncDispose]();
});

async function upload(filename: string, content: string) {
  const form = new FormData();
  form.append('file', new File([content], filename), filename);
  const response = await fetch(`${gateway.baseUrl}/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testKeys.key}` },
    body: form,
  });
  return { status: response.status, body: (await response.json()) as Json };
}

const ask = async (fileId: string) =>
  await gateway.post('/responses', {
    model: 'simulator/echo',
    plugins: [{ id: 'file-parser', pdf: { engine: 'cloudflare-ai' } }],
    input: [{ role: 'user', content: [{ type: 'input_file', file_id: fileId }] }],
  });

it('stores files in the bucket, and models read them', async () => {
  const { status, body } = await upload('a.txt', 'content of the file');
  expect(status).toBe(200);
  expect([...server.objects.keys()]).toEqual([`gate/files/${main}/${body.id}`]);
  const response = await ask(body.id);
  expect(response.status).toBe(200);
  expect(await response.text()).toContain('content of the file');
});

it('answers with a 503 without details of the bucket while it is not available', async () => {
  const { body } = await upload('b.txt', 'content');
  server.fail = () => ({ status: 403, code: 'AccessDenied' });
  for (const response of [await upload('c.txt', 'x'), { status: (await ask(body.id)).status, body: undefined }]) {
    expect(response.status).toBe(503);
    if (!response.body) continue;
    expect(response.body.error.message).toContain('The contents of files (files.url) are not available');
    expect(JSON.stringify(response.body)).not.toContain('bucket');
  }
  server.fail = () => undefined;
  expect((await ask(body.id)).status).toBe(200);
});

it('removes contents without a file, and uploads that were interrupted', async () => {
  const { body } = await upload('kept.txt', 'x');
  const kept = `gate/files/${main}/${body.id}`;
  const old = new Date(Date.now() - 7_200_000);
  for (const object of server.objects.values()) object.modifiedAt = old;
  const content = { bytes: Buffer.from('x'), metadata: {} };
  server.objects.set(`gate/files/${main}/file_wOrphan`, { ...content, modifiedAt: old });
  server.objects.set(`gate/files/${main}/file_wRecent`, { ...content, modifiedAt: new Date() });
  server.uploads.set('interrupted', { name: kept, startedAt: old, metadata: {}, parts: new Map() });
  const objects = openS3Objects({
    endpoint: server.url,
    region: server.region,
    bucket: server.bucket,
    prefix: 'gate/',
    accessKeyId: server.accessKeyId,
    secretAccessKey: server.secretAccessKey,
    pathStyle: true,
  });
  expect(await sweepFiles({ files: gateway.gateway.storage.files, objects, now: Date.now })).toBe(1);
  expect(server.objects.has(kept)).toBe(true);
  expect(server.objects.has(`gate/files/${main}/file_wRecent`)).toBe(true);
  expect(server.uploads.size).toBe(0);
});
