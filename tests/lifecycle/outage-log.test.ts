import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { startPostgres, type TestPostgres } from '../../src/testing/postgres.ts';
import { startRedis, type TestRedis } from '../../src/testing/redis.ts';
import { cleanUp, startGateway } from './gateway-process.ts';

const servers = [await startPostgres(), await startRedis()] as const;
afterAll(() => Promise.all(servers.map((each) => 'stop' in each && each.stop())));
const skipped = servers.flatMap((each) => ('skipped' in each ? [each.skipped] : []));
if (skipped.length > 0) process.stderr.write(`outage log: ${skipped.join('; ')}\n`);
const [postgres, redis] = servers as unknown as [TestPostgres, TestRedis];
afterEach(cleanUp);

describe.skipIf(skipped.length > 0)('the log of two workers', () => {
  it('has one line for each lost store and one for its return, without stacks', async () => {
    const gateway = await startGateway({
      config: {
        storage: { url: await postgres.createDatabase() },
        counters: { url: redis.url },
        limits: { requests_per_minute: 10_000 },
        providers: [{ id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/*' }] }],
      },
      args: ['--workers', '2'],
      env: { HEADGATE_LOG_LEVEL: 'info' },
    });
    const read = () =>
      gateway.running.stderr
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    const messages = () => read().map(({ msg }) => msg);
    /** Sends requests until the log has a message. */
    const waitFor = (message: string) =>
      expect
        .poll(async () => {
          await (await gateway.post({ model: 'simulator/echo', input: 'hi' })).text();
          return messages();
        })
        .toContain(message);

    await redis.kill();
    await waitFor('counters unavailable');
    await redis.start();
    await waitFor('counters recovered');
    await postgres.crash();
    await waitFor('store unavailable');
    await postgres.start();
    await waitFor('store recovered');
    await gateway.end();

    // On a busy machine, counters that have just returned read their sums from the lost store, and report a second outage.
    // Both workers report all of them: a line per worker would repeat a message.
    for (const service of ['counters', 'store']) {
      const lines = messages().filter((text) => text === `${service} unavailable` || text === `${service} recovered`);
      expect(lines.slice(0, 2)).toEqual([`${service} unavailable`, `${service} recovered`]);
      for (const [index, text] of lines.entries()) expect(text).not.toBe(lines[index - 1]);
    }
    const recovered = read().filter(({ msg }) => String(msg).endsWith('recovered'));
    for (const { outage_ms } of recovered) expect(outage_ms).toEqual(expect.any(Number));
    expect(gateway.running.stderr).not.toMatch(/"stack"|errno|Stream isn't writeable/);
  });
});
