import { afterAll, beforeAll, expect, it } from 'vitest';
import { testGateway, type TestGateway } from '../../src/testing/test-gateway.ts';
import { createTestEntry } from '../../src/platform/storage/contract/samples.ts';
import { startS3Server, type TestS3Server } from '../objects/s3-server.ts';
import { createEntries, DAY_MS } from './ledgers.ts';

let bucket: TestS3Server;
let gateway: TestGateway;
const createConfig = (days?: number) => ({
  ledger: days === undefined ? {} : { retention_days: days },
  files: {
    url: 's3://bucket/gate',
    s3: {
      endpoint: bucket.url,
      region: bucket.region,
      access_key_id: bucket.accessKeyId,
      secret_access_key: bucket.secretAccessKey,
    },
  },
});

beforeAll(async () => {
  bucket = await startS3Server();
  gateway = await testGateway(createConfig());
});
afterAll(async () => {
  await gateway.close();
  await bucket[Symbol.asyncDispose]();
});

it('archives old days to the bucket; while it rejects writes, it says so and deletes nothing', async () => {
  const today = Math.floor(Date.now() / DAY_MS);
  const { ledger } = gateway.gateway.storage;
  await ledger.append(createEntries(30, today - 20));
  await ledger.append([createTestEntry({ createdAtMs: Date.now() })]);
  const totals = await ledger.readTotals();
  await gateway.close({ keepData: true });

  bucket.fail = ({ method }) => (method === 'PUT' ? { status: 403, code: 'AccessDenied' } : undefined);
  gateway = await testGateway(createConfig(5), gateway.dataDir);
  const ready = async () => (await (await fetch(`${gateway.url}/ready`)).json()) as Record<string, string>;
  const metric = async (name: string) =>
    new RegExp(`^${name} (\\d+)$`, 'm').exec(await (await fetch(`${gateway.url}/metrics`)).text())?.[1];
  await expect.poll(ready).toEqual({ status: 'ready', archive: expect.stringMatching(/^failing since \d{4}-/) });
  expect(await metric('headgate_ledger_archive_failing')).toBe('1');
  expect(await gateway.gateway.storage.archives.listUnfinished()).not.toEqual([]);
  expect((await gateway.gateway.storage.ledger.list({ limit: 99 })).length).toBe(totals.entries);

  bucket.fail = () => undefined;
  await expect.poll(ready).toEqual({ status: 'ready' });
  expect(await metric('headgate_ledger_archive_failing')).toBe('0');
  expect(await metric('headgate_ledger_archived_rows_total')).toBe('30');
  expect([...bucket.objects.keys()].filter((name) => name.startsWith('gate/ledger/'))).toHaveLength(12);
  expect(await gateway.gateway.storage.ledger.readTotals()).toEqual(totals);
  expect(await gateway.gateway.storage.ledger.list({ limit: 99 })).toHaveLength(1);
});
