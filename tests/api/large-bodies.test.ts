import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/index.ts';
import { openRaw } from './raw-client.ts';

const memory = 1024 * 1024;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ server: { body_memory: memory } });
});
afterAll(() => gateway.close());

const repeat = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => make(index)).join();
const object = (fields: number): string => `{${repeat(fields, (index) => `"k${index}":0`)}}`;

async function refusal(path: string, body: string) {
  const response = await gateway.post(path, body);
  const { error } = (await response.json()) as {
    error: { message: string; metadata: { issues?: { path: string }[]; param?: string } };
  };
  const { issues, param } = error.metadata;
  return { status: response.status, message: error.message, paths: issues?.map((issue) => issue.path), param };
}

describe('a body with too many entries', () => {
  it.each([
    ['nested lists', '[', '['.repeat(500_000), ''],
    ['nested lists in a field', '{"model":"simulator/echo","input":', '['.repeat(500_000), 'input'],
    ['empty items', '{"model":"simulator/echo","input":[', repeat(200_000, () => '{}'), 'input'],
    // any of the first 128 fields may share its slot in the table of hashes, and then counts as one seen before
    [
      'unknown fields',
      '{"model":"simulator/echo","input":"x",',
      object(30_000).slice(1),
      expect.stringMatching(/^k(1999[89]|20[01]\d\d)$/),
    ],
    ['metadata', '{"model":"simulator/echo","input":"x","metadata":', object(30_000), 'metadata'],
    ['fields of `provider`', '{"model":"simulator/echo","input":"x","provider":', object(30_000), 'provider'],
    ['fields of a plugin', '{"model":"simulator/echo","input":"x","plugins":[', object(30_000), 'plugins'],
    ['prompt variables', '{"model":"simulator/echo","prompt":{"id":"p","variables":', object(30_000), 'prompt'],
    ['fields of `trace`', '{"model":"simulator/echo","input":"x","trace":', object(30_000), 'trace'],
  ])('is a 400 that names the field, also if it is not complete JSON: %s', async (_, start, rest, path) => {
    for (const route of ['/responses', '/images']) {
      const answer = await refusal(route, start + rest);
      expect(answer).toMatchObject({ status: 400, paths: [path] });
      if (route === '/images' && path !== '') expect(answer.param).toEqual(path);
      expect(answer.message).toMatch(/which is the limit\.$/);
    }
  });

  it('is a 400 on management routes, too', async () => {
    const response = await gateway.post('/keys', `{"name":${'['.repeat(100_000)}`, { key: testKeys.managementKey });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('nested deeper than 100 levels');
  });

  it('is a 400 if it has more than 100 plugins', async () => {
    const plugins = repeat(101, () => '{"id":"response-healing"}');
    const answer = await refusal('/responses', `{"model":"simulator/echo","input":"x","plugins":[${plugins}]}`);
    expect(answer).toMatchObject({ status: 400, paths: ['plugins'] });
  });
});

describe('unknown fields', () => {
  it.each(['/responses', '/images'])('are named in the metadata of %s, the first 50 of them', async (path) => {
    const fields = object(5000).slice(1);
    const known =
      path === '/images' ? '"model":"simulator/image","prompt":"x"' : '"model":"simulator/echo","input":"x"';
    const body = `{${known},${fields}`;
    const response = await gateway.post(path, body, { headers: { 'x-router-metadata': 'enabled' } });
    const answer = await response.json();
    expect(response.status, JSON.stringify(answer)).toBe(200);
    const metadata = (answer as { router_metadata: { params: { ignored_fields: string[] } } }).router_metadata;
    expect(metadata.params.ignored_fields).toHaveLength(51);
    expect(metadata.params.ignored_fields.at(-1)).toBe('… and 4950 more');
  });
});

describe('a large valid body', () => {
  it('passes: a conversation of 8,000 items', async () => {
    const input = Array.from({ length: 2000 }, (_, index) => [
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: `Question ${index}: ${'why '.repeat(30)}` }],
      },
      { type: 'function_call', call_id: `call_${index}`, name: 'look', arguments: `{"query":"${index}"}` },
      { type: 'function_call_output', call_id: `call_${index}`, output: `{"rows":[[${index},"\\"quoted\\""]]}` },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Because. '.repeat(30), annotations: [] }],
      },
    ]).flat();
    const response = await gateway.post('/responses', { model: 'simulator/echo', input });
    expect(response.status, await response.clone().text()).toBe(200);
  });

  it('passes: an image of 20 MiB, alone in memory that is smaller', async () => {
    const url = `data:image/png;base64,${Buffer.alloc(15 * 1024 * 1024, 7).toString('base64')}`;
    const content = [{ type: 'input_image', detail: 'auto', image_url: url }];
    const response = await gateway.post('/responses', { model: 'simulator/echo', input: [{ role: 'user', content }] });
    expect(response.status).toBe(200);
  });
});

describe('bodies that together need more memory than the limit', () => {
  const large = JSON.stringify({ model: 'nobody/none', input: 'a'.repeat(700_000) });
  const send = async (): Promise<number> => (await gateway.post('/responses', large)).status;

  /** Waits until the gateway has the headers of a number of open requests. */
  const open = async (requests: number): Promise<void> => {
    const read = async () => (await fetch(`${gateway.url}/metrics`)).text();
    await expect.poll(read).toMatch(new RegExp(`^headgate_open_requests ${requests}$`, 'm'));
  };

  /** A client that announces its body and does not send it. */
  async function openSlowly(): Promise<Socket> {
    const { socket, sendHead } = openRaw(gateway);
    sendHead({ 'content-length': memory - 100_000 });
    await open(1);
    return socket;
  }

  it('get 429 with Retry-After until there is memory, and small ones pass', async () => {
    const socket = await openSlowly();

    const response = await gateway.post('/responses', large);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await response.json()).toMatchObject({
      error: {
        code: 429,
        message: expect.stringContaining('server.body_memory'),
        metadata: { error_type: 'rate_limit_exceeded' },
      },
    });
    expect((await gateway.post('/responses', { model: 'simulator/echo', input: 'a'.repeat(60_000) })).status).toBe(200);

    socket.destroy();
    await open(0);
    expect(await send()).toBe(400);
  });

  it('are counted as they arrive if their length is unknown', async () => {
    const socket = await openSlowly();
    const client = openRaw(gateway);
    client.sendHead({ 'transfer-encoding': 'chunked' });

    for (let sent = 0; sent < 20; sent++) client.socket.write(`2710\r\n${' '.repeat(10_000)}\r\n`);
    await expect.poll(() => client.text).toContain('HTTP/1.1 429 ');

    client.socket.destroy();
    socket.destroy();
    await open(0);
    expect(await send()).toBe(400);
  });

  it('are counted until their response is complete', async () => {
    const input = `${'a'.repeat(700_000)} [[stall 1]]`;
    const leave = new AbortController();
    const body = { model: 'simulator/echo', input, stream: true };
    const response = await gateway.post('/responses', body, { signal: leave.signal });
    expect(response.status).toBe(200);

    expect(await send()).toBe(429);

    leave.abort();
    await open(0);
    expect(await send()).toBe(400);
  });

  it('have the memory of the new configuration after a reload', async () => {
    const socket = await openSlowly();
    await gateway.reload({ server: { body_memory: 8 * memory } });
    expect(await send()).toBe(400);
    await gateway.reload({ server: { body_memory: memory } });
    expect(await send()).toBe(429);
    socket.destroy();
    await open(0);
  });
});
