import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../../src/testing/postgres.ts';
import { startS3Server, type TestS3Server } from '../objects/s3-server.ts';
import { type Client, connect, hangUp } from './client.ts';
import { cleanUp, startGateway } from './gateway-process.ts';

/* A container of two hosts, whose files are in a bucket. Its commands run in the simulation, which exists everywhere. */

const postgres = await startPostgres();
const skipped = 'skipped' in postgres ? ` (skipped: ${postgres.skipped})` : '';

interface Item {
  type: string;
  container_id?: string;
  output?: { stdout: string }[];
}

describe.skipIf(skipped !== '')(`containers of two hosts on one PostgreSQL and one bucket${skipped}`, () => {
  const { url, stop } = postgres as TestPostgres;
  const admin = new pg.Client({ connectionString: url });
  let bucket: TestS3Server;

  beforeAll(async () => {
    await admin.connect();
    await admin.query('create database container_hosts');
    bucket = await startS3Server();
  });
  afterAll(async () => {
    hangUp();
    await cleanUp();
    await bucket[Symbol.asyncDispose]();
    await admin.end();
    await stop();
  });

  /** Returns a client of the single-process host, and two for the workers of the other one. */
  async function start(): Promise<Client[]> {
    const { url: endpoint, region, accessKeyId, secretAccessKey } = bucket;
    const config = {
      secrets: { master_key: 'the same on all hosts, 32 letters' },
      tools: { sandbox: { driver: 'simulation' } },
      files: {
        url: `s3://${bucket.bucket}/gate`,
        s3: { endpoint, region, access_key_id: accessKeyId, secret_access_key: secretAccessKey },
      },
    };
    const env = { DATABASE_URL: new URL('/container_hosts', url).href };
    const begin = (...args: string[]) => startGateway({ config, args, env });
    const hosts = [await begin(), await begin('--workers', '2')] as const;
    const clients: Client[] = [connect(hosts[0]), connect(hosts[1]), connect(hosts[1])];
    await clients[1]!('GET', '/health'); // the next connection to this host goes to the other worker
    return clients;
  }

  async function run(client: Client, ...commands: string[]): Promise<Item> {
    const input = `[[call router:shell ${JSON.stringify({ commands })}]] [[then]] [[say Done.]]`;
    const body = { model: 'simulator/echo', session_id: 'shared', input, tools: [{ type: 'router:shell' }] };
    const answer = await client('POST', '/api/v1/responses', { body });
    expect(answer.status, answer.body).toBe(200);
    return (JSON.parse(answer.body) as { output: Item[] }).output[0]!;
  }

  it('go on at every host, which lists and sends the files of the others', async () => {
    const clients = await start();
    for (let round = 0; round < 2; round++) {
      for (const [index, client] of clients.entries()) {
        const count = round * clients.length + index + 1;
        const item = await run(client, `echo ${count} >> log.txt`, 'cat log.txt');
        const lines = Array.from({ length: count }, (_, at) => `${at + 1}\n`).join('');
        expect(item).toMatchObject({ container_id: 'sess_shared', output: [{}, { stdout: lines }] });

        const other = clients[(index + 1) % clients.length]!;
        const listed = JSON.parse((await other('GET', '/api/v1/containers/sess_shared/files')).body);
        expect(listed).toMatchObject({ data: [{ path: 'log.txt', bytes: lines.length }] });
        const content = await other('GET', `/api/v1/containers/sess_shared/files/${listed.data[0].id}/content`);
        expect([content.status, content.body]).toEqual([200, lines]);
      }
    }
    expect(bucket.objects.size).toBeGreaterThan(0);
  });
});
