import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/index.ts';
import { startPostgres } from '../../src/testing/postgres.ts';
import { cleanUp, type GatewayProcess, makeFolder, startGateway } from './gateway-process.ts';

const server = await startPostgres();
afterEach(cleanUp);
afterAll(() => ('skipped' in server ? undefined : server.stop()));

const simulator = {
  providers: [{ id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/echo', upstream_model: 'echo' }] }],
};

/** Each call has a connection of its own, so that the next worker takes it. */
const headers = { authorization: `Bearer ${testKeys.key}`, connection: 'close' };

async function upload({ url }: GatewayProcess, filename: string, text: string): Promise<string> {
  const form = new FormData();
  form.append('file', new File([text], filename));
  const response = await fetch(`${url}/api/v1/files`, { method: 'POST', headers, body: form });
  expect(response.status).toBe(200);
  return ((await response.json()) as { id: string }).id;
}

const remove = async ({ url }: GatewayProcess, id: string): Promise<void> => {
  const response = await fetch(`${url}/api/v1/files/${id}`, { method: 'DELETE', headers });
  expect(response.status).toBe(200);
};

async function search({ url }: GatewayProcess, query: string): Promise<string[]> {
  const input = `[[call router:file_search ${JSON.stringify({ queries: [query] })}]]`;
  const body = JSON.stringify({ model: 'simulator/echo', tools: [{ type: 'router:file_search' }], input });
  const type = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/api/v1/responses`, { method: 'POST', headers: { ...headers, ...type }, body });
  const { output } = (await response.json()) as { output: { results: { filename: string }[] }[] };
  return output[0]!.results.map(({ filename }) => filename).toSorted();
}

it('every worker finds the files that another one has stored', async () => {
  const gateway = await startGateway({ config: simulator, args: ['--workers', '2'] });
  const one = await upload(gateway, 'one.txt', 'Tea from Assam.');
  await upload(gateway, 'two.md', '# Tea\n\nfrom Darjeeling');
  for (let count = 0; count < 4; count++) expect(await search(gateway, 'tea')).toEqual(['one.txt', 'two.md']);
  await remove(gateway, one);
  for (let count = 0; count < 4; count++) expect(await search(gateway, 'tea')).toEqual(['two.md']);
  expect(await gateway.end()).toBe(0);
});

describe.skipIf('skipped' in server)('hosts on one PostgreSQL and one folder', () => {
  it('find the files of each other', async () => {
    if ('skipped' in server) throw new Error(server.skipped);
    const env = { DATABASE_URL: await server.createDatabase() };
    const config = { ...simulator, files: { url: `file:${join(makeFolder(), 'files')}` } };
    const hosts = [await startGateway({ config, env }), await startGateway({ config, env, args: ['--workers', '2'] })];
    const [first, second] = hosts as [GatewayProcess, GatewayProcess];
    const one = await upload(first, 'one.txt', 'Tea from Assam.');
    await upload(second, 'two.csv', 'kind,price\ntea,3');
    for (const host of [first, second, second]) expect(await search(host, 'tea')).toEqual(['one.txt', 'two.csv']);
    await remove(second, one);
    for (const host of [first, second, second]) expect(await search(host, 'assam tea')).toEqual(['two.csv']);
    expect(await Promise.all(hosts.map((host) => host.end()))).toEqual([0, 0]);
  });
});
