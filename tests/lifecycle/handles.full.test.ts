import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ScriptedUpstream, sse, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';
import { patient } from '../../src/testing/patience.ts';

const warnings: Error[] = [];
const onWarning = (warning: Error) => warnings.push(warning);
let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeEach(async () => {
  process.on('warning', onWarning);
  upstream = await startUpstream();
  gateway = await testGateway({
    providers: [
      { id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/*' }] },
      { id: 'up', wire: 'openai-chat', base_url: upstream.url, models: [{ model: 'up/m' }] },
    ],
  });
});
afterEach(async () => {
  process.off('warning', onWarning);
  await gateway.close();
  await upstream.close();
});

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'x',
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
});
const answer = sse([chunk({ role: 'assistant', content: 'Hello' }), chunk({ content: ' there' }), chunk({}, 'stop')]);

/** Counts the active resources of this process by kind. */
const countResources = () => {
  const counts: Record<string, number> = {};
  for (const name of process.getActiveResourcesInfo()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
};

describe('after 2,000 requests, a third of them streamed, a third aborted', () => {
  it(
    'no socket, timer or listener is left over',
    async () => {
      upstream.always(answer);
      const client = new Agent({ connections: 16 });
      const ask = async (at: number): Promise<void> => {
        const aborter = new AbortController();
        const isAborted = at % 3 === 2;
        const isSlow = isAborted && at % 2 === 0;
        const response = await request(`${gateway.url}/api/v1/responses`, {
          method: 'POST',
          dispatcher: client,
          signal: aborter.signal,
          headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model: at % 2 === 0 ? 'simulator/echo' : 'up/m',
            input: isSlow ? '[[slow 50]] [[words 1000]]' : 'hi',
            stream: at % 3 > 0,
          }),
        });
        expect(response.statusCode).toBe(200);
        if (isAborted) {
          aborter.abort();
          await response.body.dump().catch(() => {});
        } else await response.body.text();
      };
      const run = async (count: number) => {
        let at = 0;
        const work = async () => {
          while (at < count) await ask(at++);
        };
        await Promise.all(Array.from({ length: 16 }, work));
      };

      await run(200); // until everything that is kept between requests exists
      const before = countResources();
      await run(2000);
      await expect
        .poll(() => countResources()['TCPSocketWrap'] ?? 0)
        .toBeLessThanOrEqual((before['TCPSocketWrap'] ?? 0) + 4);
      await expect.poll(() => countResources()['Timeout'] ?? 0).toBeLessThanOrEqual((before['Timeout'] ?? 0) + 4);
      await client.destroy();
      expect(warnings).toEqual([]);
      await expect.poll(async () => (await gateway.gateway.storage.ledger.readTotals()).entries).toBe(2200);
    },
    patient(400_000),
  );
});
