import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/index.ts';
import { bytes } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { cleanUp, type GatewayProcess, startGateway } from './gateway-process.ts';

const MIB = 1024 * 1024;
const fill = (unit: string, bytes: number): string => unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)));

async function send(gateway: GatewayProcess, path: string, body: string): Promise<number> {
  const response = await fetch(`${gateway.url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json' },
    body,
  });
  await response.arrayBuffer();
  return response.status;
}

const model = '"model":"nobody/none"';
const prompt = '"model":"nobody/none","prompt":"x"';

/** Bodies of just under 32 MiB that take the most memory or text to parse. */
const bodies: [string, string, string][] = [
  ['nested lists', '/responses', `${fill('[', 15.5 * MIB)}${fill(']', 15.5 * MIB)}`],
  ['empty items', '/responses', `{${model},"input":[${fill('{},', 31 * MIB)}{}]}`],
  ['numbers', '/responses', `{${model},"input":[${fill('0,', 31 * MIB)}0]}`],
  ['a text of two bytes a character', '/responses', `{${model},"input":"${fill('a', 31 * MIB)}\u{1f600}"}`],
  ['nested lists for images', '/images', `${fill('[', 31 * MIB)}${fill(']', 31 * MIB)}`],
  ['a prompt for images', '/images', `{${prompt},"user":"${fill('a', 62 * MIB)}\u{1f600}"}`],
];

describe('a process with 512 MiB of heap', () => {
  let gateway: GatewayProcess;
  beforeAll(async () => {
    gateway = await startGateway({ env: { NODE_OPTIONS: '--max-old-space-size=512' } });
  });
  afterAll(cleanUp);

  it.each(bodies)(
    'responds to bodies of %s, also to 6 at once',
    async (_, path, body) => {
      expect(await send(gateway, path, body)).toBe(400);
      const statuses = await Promise.all(Array.from({ length: 6 }, () => send(gateway, path, body)));

      expect(statuses).toContain(400);
      expect(statuses.every((status) => status === 400 || status === 429)).toBe(true);
      expect((await gateway.post({ input: 'hello' })).status).toBe(200);
    },
    120_000,
  );

  it('ends with 0 after them', async () => {
    expect(await gateway.end()).toBe(0);
  });
});

/** JSON of just under 32 MiB, which is the limit of a response. */
const responses: [string, string][] = [
  ['nested lists', `{"choices":${fill('[', 15.5 * MIB)}${fill(']', 15.5 * MIB)}}`],
  ['choices', `{"choices":[${fill('{},', 31 * MIB)}{}]}`],
  ['numbers', `{"choices":[${fill('0,', 31 * MIB)}0]}`],
  ['short texts', `{"choices":[${Array.from({ length: 3_000_000 }, (_, at) => `"${at}"`).join()}]}`],
  ['different fields', `{"choices":[{${Array.from({ length: 2_000_000 }, (_, at) => `"${at}":0`).join()}}]}`],
];

describe('a process with 512 MiB of heap and a provider that sends too much JSON', () => {
  let upstream: ScriptedUpstream;
  let gateway: GatewayProcess;
  beforeAll(async () => {
    upstream = await startUpstream();
    const models = [{ model: 'acme/m' }];
    gateway = await startGateway({
      env: { NODE_OPTIONS: '--max-old-space-size=512' },
      config: { providers: [{ id: 'p', wire: 'openai-chat', base_url: upstream.url, api_key: 'k', models }] },
    });
  });
  afterAll(async () => {
    await cleanUp();
    await upstream.close();
  });

  it.each(responses)(
    'rejects %s, whole and as an event, also 3 at once',
    async (_, body) => {
      for (const response of [
        bytes(body, { headers: { 'content-type': 'application/json' } }),
        bytes(`data: ${body}\n\n`, { headers: { 'content-type': 'text/event-stream' } }),
        bytes(body, { status: 400, headers: { 'content-type': 'application/json' } }),
      ]) {
        upstream.always(response);
        const ask = () => gateway.post({ model: 'acme/m', input: 'hello' });
        for (const { status } of await Promise.all([ask(), ask(), ask()])) expect([400, 502]).toContain(status);
      }
    },
    120_000,
  );

  it('ends with 0 after them', async () => {
    expect(await gateway.end()).toBe(0);
  });
});
