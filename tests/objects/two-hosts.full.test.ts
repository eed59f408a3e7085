import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../../src/testing/postgres.ts';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { startS3Server, type TestS3Server } from './s3-server.ts';

const postgres = await startPostgres();

describe.skipIf('skipped' in postgres)('two hosts with one PostgreSQL and one bucket', () => {
  const { stop, createDatabase } = postgres as TestPostgres;
  let bucket: TestS3Server;
  let hosts: TestGateway[];
  const folder = mkdtempSync(join(tmpdir(), 'headgate-two-hosts-'));

  beforeAll(async () => {
    bucket = await startS3Server();
    const config = {
      storage: { url: await createDatabase() },
      files: {
        url: 's3://bucket/gate',
        s3: {
          endpoint: bucket.url,
          region: bucket.region,
          access_key_id: bucket.accessKeyId,
          secret_access_key: bucket.secretAccessKey,
        },
      },
    };
    hosts = [];
    for (const name of ['one', 'two']) {
      mkdirSync(join(folder, name));
      hosts.push(await testGateway(config, join(folder, name)));
    }
  });
  afterAll(async () => {
    for (const host of hosts) await host.close();
    await bucket[Symbol.asyncDispose]();
    await stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('read the files of each other', async () => {
    const [one, two] = hosts as [TestGateway, TestGateway];
    const form = new FormData();
    form.append('file', new File(['content of the first host'], 'a.txt'), 'a.txt');
    const headers = { authorization: `Bearer ${testKeys.key}` };
    const uploaded = await fetch(`${one.baseUrl}/files`, { method: 'POST', headers, body: form });
    const { id } = (await uploaded.json()) as { id: string };
    expect(bucket.objects.size).toBe(1);
    const response = await two.post('/responses', {
      model: 'simulator/echo',
      plugins: [{ id: 'file-parser', pdf: { engine: 'cloudflare-ai' } }],
      input: [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }],
    });
    expect(await response.text()).toContain('content of the first host');
    expect((await two.send('DELETE', `/files/${id}`)).status).toBe(200);
    expect(bucket.objects.size).toBe(0);
    expect((await one.get(`/files/${id}`)).status).toBe(404);
  });
});
