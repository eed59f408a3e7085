import { afterEach, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/index.ts';
import { cleanUp, startGateway } from './gateway-process.ts';

afterEach(cleanUp);

/** More requests than the workers take in turn by chance. */
const REQUESTS = 12;

it('a preset that one worker creates, changes and deletes is the same for all, and survives a crash', async () => {
  let gateway = await startGateway({ args: ['--workers', '2'] });
  const { folder } = gateway;
  const send = async (method: string, path: string, body?: object): Promise<number> => {
    const authorization = `Bearer ${testKeys.key}`;
    const response = await fetch(`${gateway.url}/api/v1/presets${path}`, {
      method,
      headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return response.status;
  };
  /** The different outcomes of many requests. */
  const outcomes = async (): Promise<unknown[]> => {
    const found = new Set<unknown>();
    for (let count = 0; count < REQUESTS; count++) {
      const response = await gateway.post({ input: 'Hello', preset: 'brief' });
      const { temperature } = (await response.json()) as { temperature?: number };
      found.add(response.status === 200 ? temperature : response.status);
    }
    return [...found];
  };
  expect(await send('POST', '', { slug: 'brief', config: { temperature: 0.25 } })).toBe(201);
  await expect.poll(outcomes).toEqual([0.25]);
  expect(await send('PATCH', '/brief', { config: { temperature: 0.75 } })).toBe(200);
  await expect.poll(outcomes).toEqual([0.75]);

  await gateway.end('SIGKILL');
  gateway = await startGateway({ folder, args: ['--workers', '2'] });
  expect(await outcomes()).toEqual([0.75]);
  expect(await send('DELETE', '/brief')).toBe(200);
  await expect.poll(outcomes).toEqual([400]);
});
