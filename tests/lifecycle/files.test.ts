import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/index.ts';
import { cleanUp, startGateway } from './gateway-process.ts';

afterEach(cleanUp);

const names = ['one.txt', 'two.txt', 'three.txt', 'four.txt', 'five.txt', 'six.txt'];

it('files that several workers store are the same for all, and survive a crash', async () => {
  let gateway = await startGateway({ args: ['--workers', '2'] });
  const { folder } = gateway;
  const call = async (method: string, path: string, body?: FormData) => {
    const headers = { authorization: `Bearer ${testKeys.key}`, connection: 'close' }; // the next worker takes the next one
    const response = await fetch(`${gateway.url}/api/v1/files${path}`, { method, headers, ...(body && { body }) });
    return { status: response.status, body: (await response.json()) as { id: string; data: { filename: string }[] } };
  };
  const list = async () => (await call('GET', '')).body.data.map(({ filename }) => filename).toSorted();
  const stored = await Promise.all(
    names.map(async (name) => {
      const form = new FormData();
      form.append('file', new File([name], name));
      return call('POST', '', form);
    }),
  );
  expect(stored.map(({ status }) => status)).toEqual(names.map(() => 200));
  for (let count = 0; count < 4; count++) expect(await list()).toEqual(names.toSorted());

  await gateway.end('SIGKILL');
  gateway = await startGateway({ folder, args: ['--workers', '2'] });
  expect(await list()).toEqual(names.toSorted());
  for (const { body } of stored) expect((await call('DELETE', `/${body.id}`)).status).toBe(200);
  expect(await list()).toEqual([]);
  const contents = join(gateway.folder, 'data/files/objects');
  expect(existsSync(contents) ? readdirSync(contents) : []).toEqual([]);
});
