import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { json, startUpstream, testKeys } from '../../src/testing/index.ts';
import { cleanUp, type GatewayProcess, openStream, startGateway } from './gateway-process.ts';
import { heldModel, startHeldUpstream } from './held-upstream.ts';

afterEach(cleanUp);

const slow = (ms: number, words: number) => ({ input: `[[slow ${ms}]] [[words ${words}]]`, stream: true });

describe('the drain', () => {
  const isLogged = (gateway: GatewayProcess, message: string) =>
    expect.poll(() => gateway.running.stderr).toContain(`"msg":"${message}"`);
  const env = { HEADGATE_LOG_LEVEL: 'info' };

  it.each([1, 2])('serves new requests while /ready is a 503, then ends, with %i workers', async (workers) => {
    const gateway = await startGateway({ env, config: { server: { drain_ms: 3000, workers } } });
    const before = await gateway.post({ input: 'hi' });
    expect([before.status, before.headers.get('connection')]).toEqual([200, 'keep-alive']);
    gateway.running.child.kill('SIGTERM');
    await isLogged(gateway, 'drain started');
    expect(gateway.running.stderr).toContain('"drain_ms":3000');
    expect((await gateway.get('/ready')).status).toBe(503);
    expect((await fetch(`${gateway.url}/ready`, { method: 'OPTIONS' })).status).toBe(503);
    expect((await gateway.get('/health')).status).toBe(200);
    for (const body of [{ input: 'hi' }, { input: 'hi', stream: true }]) {
      const answer = await gateway.post(body);
      expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
      expect(await answer.text()).toContain('completed');
    }
    expect(gateway.running.stderr).not.toContain('shutdown started');
    expect(await gateway.running.ended).toBe(0);
    expect(gateway.running.stderr).toContain('shutdown started');
  });

  it.each([1, 2])('takes 5 s if a load balancer requests /ready, with %i workers', async (workers) => {
    const gateway = await startGateway({ env, config: { server: { workers } } });
    expect((await gateway.get('/ready')).status).toBe(200);
    gateway.running.child.kill('SIGTERM');
    await isLogged(gateway, 'drain started');
    expect(gateway.running.stderr).toContain('"drain_ms":5000');
    expect((await gateway.post({ input: 'hi' })).status).toBe(200);
    expect(await gateway.end()).toBe(130); // a second signal
  });

  it('is left out after Ctrl-C', async () => {
    const gateway = await startGateway({ env, config: { server: { drain_ms: 60_000 } } });
    expect(await gateway.end('SIGINT')).toBe(0);
    expect(gateway.running.stderr).not.toContain('drain started');
  });
});

describe('SIGTERM', () => {
  it('finishes the open stream, rejects new requests with 503 and exits with 0; the ledger is complete', async () => {
    const held = await startHeldUpstream();
    onTestFinished(held.close);
    const gateway = await startGateway({ config: { providers: held.providers, server: { drain_ms: 0 } } });
    const before = await gateway.post({ input: 'before' });
    await before.text();
    const stream = await openStream(gateway.post({ model: heldModel, input: 'hi', stream: true }));
    await stream.readUntil('response.output_text.delta');

    gateway.running.child.kill('SIGTERM');
    await expect.poll(async () => (await gateway.get('/ready')).status).toBe(503);

    const refused = await gateway.post({ input: 'too late' });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(refused.headers.get('connection')).toBe('close');
    expect(await refused.json()).toMatchObject({
      error: { code: 503, message: expect.stringContaining('shutting down') },
    });
    const image = await gateway.post({ prompt: 'too late' }, undefined, '/images');
    expect([image.status, image.headers.get('connection')]).toEqual([529, 'close']);
    expect((await gateway.get('/health')).status).toBe(200);
    const ready = await gateway.get('/ready');
    expect(ready.status).toBe(503);

    held.release();
    const events = await stream.readAll();
    expect(events).toContain('response.completed');
    expect(events.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(await gateway.running.ended).toBe(0);
    expect(existsSync(join(gateway.folder, 'data', 'gateway.pid'))).toBe(false);

    const again = await startGateway({ folder: gateway.folder });
    for (const id of [before.headers.get('x-generation-id'), stream.id]) {
      const entry = await again.get(`/api/v1/generation?id=${id}`);
      expect(await entry.json()).toMatchObject({ data: { id, status: 200, finish_reason: 'stop' } });
    }
  });

  it.each([
    'SIGTERM',
    'SIGINT',
  ] as const)('ends the gateway of `npm start` when npm has the signal: %s', async (signal) => {
    const gateway = await startGateway({ npm: true });
    const lock = join(gateway.folder, 'data', 'gateway.pid');
    const pid = Number.parseInt(readFileSync(lock, 'utf8'), 10);
    onTestFinished(() => {
      if (existsSync(lock)) process.kill(pid, 'SIGKILL'); // npm has ended, and the gateway has not
    });
    expect(await gateway.end(signal)).toBe(0);
    expect(existsSync(lock)).toBe(false);
    await expect(gateway.get('/health')).rejects.toThrow('fetch failed');
  });

  it('ends a stream that exceeds the grace period with response.failed and [DONE], and records it', async () => {
    const gateway = await startGateway({ config: { server: { shutdown_grace_ms: 100 } } });
    const stream = await openStream(gateway.post(slow(100, 1000)));
    await stream.readUntil('response.output_text.delta');
    expect(await gateway.end()).toBe(0);

    const events = await stream.readAll();
    expect(events).toMatch(/"type":"response.failed".*shut down/);
    expect(events.endsWith('data: [DONE]\n\n')).toBe(true);
    const again = await startGateway({ folder: gateway.folder });
    const entry = await again.get(`/api/v1/generation?id=${stream.id}`);
    expect(await entry.json()).toMatchObject({ data: { id: stream.id, finish_reason: 'failed', status: 503 } });
  });

  it('ends a buffered request that exceeds the grace period with 503', async () => {
    const gateway = await startGateway({ config: { server: { shutdown_grace_ms: 100 } } });
    const stream = await openStream(gateway.post(slow(100, 1000)));
    const answer = gateway.post({ ...slow(100, 1000), stream: false });
    answer.catch(() => {}); // it is awaited later
    await stream.readUntil('response.output_text.delta');
    const readMetrics = async () => (await gateway.get('/metrics')).text();
    await expect.poll(readMetrics).toMatch(/^headgate_open_requests 2$/m);
    expect(await gateway.end()).toBe(0);
    expect((await answer).status).toBe(503);
  });

  it('sends a slow reader the complete buffered response', async () => {
    const upstream = await startUpstream();
    const whole = 'word '.repeat(2_000_000);
    upstream.always(
      json({
        id: 'x',
        object: 'chat.completion',
        model: 'm',
        choices: [{ index: 0, message: { role: 'assistant', content: whole }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }),
    );
    const gateway = await startGateway({
      config: {
        providers: [{ id: 'up', wire: 'openai-chat', base_url: upstream.url, models: [{ model: 'up/m' }] }],
        server: { drain_ms: 0 },
      },
    });
    const sent = request(`${gateway.url}/api/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json' },
    });
    sent.end(JSON.stringify({ model: 'up/m', input: 'hi' }));
    const [answer] = await once(sent, 'response');
    gateway.running.child.kill('SIGTERM');
    await expect.poll(async () => (await gateway.get('/ready')).status).toBe(503);
    let bytes = 0;
    for await (const piece of answer) bytes += piece.length;
    expect(answer.complete).toBe(true);
    expect(bytes).toBeGreaterThan(whole.length);
    expect(await gateway.running.ended).toBe(0);
    await upstream.close();
  });

  it('does not wait for connections without a request, nor for a client that reads nothing', async () => {
    const gateway = await startGateway({ config: { server: { shutdown_grace_ms: 100 } } });
    const { hostname, port } = new URL(gateway.url);
    const idle = connect(Number(port), hostname);
    const half = connect(Number(port), hostname, () => half.write('POST /api/v1/responses HTTP/1.1\r\nHost: a\r\n'));
    const deaf = connect(Number(port), hostname);
    const body = JSON.stringify({ model: 'simulator/echo', input: '[[words 100000]]', stream: true });
    deaf.write(
      `POST /api/v1/responses HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${testKeys.key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await once(deaf, 'readable'); // paused: nothing is read
    const ends = [idle, half, deaf].map((socket) =>
      once(
        socket.on('error', () => {}),
        'close',
      ),
    );
    expect(await gateway.end()).toBe(0);
    deaf.resume();
    await Promise.all(ends);
  });

  it('exits at once with 130 on a second signal; the next start has every response in the ledger', async () => {
    const gateway = await startGateway({ env: { HEADGATE_LOG_LEVEL: 'info' } });
    const stream = await openStream(gateway.post(slow(1000, 1000)));
    await stream.readUntil('response.output_text.delta');
    const answered = await gateway.post({ input: 'hi' });
    await answered.text();
    gateway.running.child.kill('SIGTERM');
    await expect.poll(() => gateway.running.stderr).toContain('shutdown started');
    expect(JSON.parse(gateway.running.stderr)).toMatchObject({
      level: 30,
      msg: 'shutdown started',
      signal: expect.stringMatching(/^SIG/),
      grace_ms: expect.any(Number),
    });
    expect(await gateway.end()).toBe(130);
    await stream.readAll().catch(() => {});

    const again = await startGateway({ folder: gateway.folder });
    expect((await again.get(`/api/v1/generation?id=${answered.headers.get('x-generation-id')}`)).status).toBe(200);
  });
});
