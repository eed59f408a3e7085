import { once } from 'node:events';
import { connect } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/scripted-responses.ts';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/index.ts';
import { openLab, wireNames } from './lab.ts';
import { openRaw } from './raw-client.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const good = { model: 'simulator/echo', input: 'hello' };

async function refusal(body: unknown, headers?: Record<string, string>) {
  const response = await gateway.post('/responses', body, headers ? { headers } : {});
  const answer = (await response.json()) as { error: { code: number; message: string; metadata: object } };
  expect(answer.error.code).toBe(response.status);
  return { status: response.status, message: answer.error.message, metadata: answer.error.metadata };
}

describe('a body that cannot be read', () => {
  it.each([
    ['', 'The body is empty; send a JSON object.'],
    ['{"model": }', 'The body is not valid JSON at line 1, column 11: value expected.'],
    ['{"model":\n "a",\n "input" "b"}', 'The body is not valid JSON at line 3, column 10: colon expected.'],
    ['{"model":"a"', 'The body is not valid JSON at line 1, column 13: close brace expected.'],
    ['{"__proto__": {"x": 1}}', 'The body contains the key __proto__ or constructor.prototype; remove it.'],
    ['{"input": [{"constructor": {"prototype": 1}}]}', 'The body contains the key __proto__ or constructor.prototype'],
    ['{"__pr\\u006Fto__": {"x": 1}}', 'The body contains the key __proto__ or constructor.prototype; remove it.'],
    ['{"\\u005f_\\u0070\\u0072\\u006f\\u0074\\u006f_\\u005f": 1}', 'The body contains the key __proto__'],
    ['{"a": {"constructor": {"prot\\u006ftype": 1}}}', 'The body contains the key __proto__ or constructor.prototype'],
  ])('is a 400 that names the position: %j', async (body, message) => {
    const answer = await refusal(body);
    expect(answer.status).toBe(400);
    expect(answer.message).toContain(message);
    expect(answer.metadata).toMatchObject({ error_type: 'invalid_request' });
  });

  it('is a 400 if it is not UTF-8', async () => {
    const answer = await refusal(
      Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
    );
    expect(answer).toMatchObject({ status: 400, message: 'The body is not valid UTF-8.' });
  });

  it.each([
    'text/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
  ])('is a 400 that names the Content-Type %s', async (type) => {
    const answer = await refusal(JSON.stringify(good), { 'content-type': type });
    expect(answer.status).toBe(400);
    expect(answer.message).toContain(type);
    expect(answer.message).toContain('application/json');
  });

  it.each(['', '/', 'json', 'application/json\ttext'])('is a 400 if the Content-Type is %j', async (type) => {
    const answer = await refusal(JSON.stringify(good), { 'content-type': type });
    expect(answer).toMatchObject({ status: 400, message: expect.stringContaining('Send application/json') });
  });

  it('is a 400 if it does not match its Content-Encoding', async () => {
    const answer = await refusal(gzipSync(JSON.stringify(good)).subarray(0, -9), { 'content-encoding': 'gzip' });
    expect(answer).toMatchObject({ status: 400, message: 'The body is not valid gzip (Content-Encoding).' });
    const unknown = await refusal('', { 'content-encoding': 'compress' });
    expect(unknown).toMatchObject({
      status: 400,
      message: expect.stringContaining('Use one of gzip, deflate, br, zstd'),
    });
  });

  it.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ])('is decompressed: %s', async (encoding, compress) => {
    const headers = { 'content-encoding': encoding };
    const response = await gateway.post('/responses', compress(JSON.stringify(good)), { headers });
    expect(response.status).toBe(200);
  });

  it('is a 413 if it is larger than the limit after decompression', async () => {
    const bomb = zstdCompressSync(Buffer.alloc(64 * 1024 * 1024, ' '));
    expect(bomb.length).toBeLessThan(100_000);
    expect(await refusal(bomb, { 'content-encoding': 'zstd' })).toMatchObject({ status: 413 });
  });

  it.each([
    'text/plain;charset=UTF-8',
    'text/json',
    'application/octet-stream',
    'application/vnd.api+json',
  ])('is JSON with the Content-Type %s', async (type) => {
    const response = await gateway.post('/responses', good, { headers: { 'content-type': type } });
    expect(response.status).toBe(200);
  });

  it('is JSON without a Content-Type and with a byte order mark', async () => {
    const body = Buffer.from(`\ufeff${JSON.stringify(good)}`);
    const headers = { authorization: `Bearer ${gateway.key}` };
    expect((await fetch(`${gateway.baseUrl}/responses`, { method: 'POST', headers, body })).status).toBe(200);
  });

  it.each([[[]], [null], ['"text"'], [42], ['true']])('is a 400 if it is no object: %j', async (body) => {
    expect((await refusal(typeof body === 'string' ? body : JSON.stringify(body))).status).toBe(400);
  });

  it('accepts JSON with a charset, without a byte order mark', async () => {
    const response = await gateway.post('/responses', good, {
      headers: { 'content-type': 'application/json; charset=utf-8' },
    });
    expect(response.status).toBe(200);
  });
});

describe('a body that is not read', () => {
  it.each([
    { status: 413, key: testKeys.key, bytes: 33 * 1024 * 1024 },
    { status: 401, key: 'nobody-knows-this-key', bytes: 5 * 1024 * 1024 },
  ])('is a $status for a client that sends it completely, whose connection stays usable', async (its) => {
    const answers = openRaw(gateway);
    answers.sendHead({ authorization: `Bearer ${its.key}`, 'content-length': its.bytes });
    await expect.poll(() => answers.text).toContain(`HTTP/1.1 ${its.status} `);

    const body = JSON.stringify(good);
    answers.socket.write(Buffer.alloc(its.bytes, ' '));
    answers.sendHead({ 'content-length': body.length });
    answers.socket.write(body);

    await expect.poll(() => answers.text).toContain('HTTP/1.1 200 ');
    answers.socket.destroy();
  });

  it('gets one response if it does not arrive', async () => {
    const hasty = await testGateway({ timeouts: { receive_ms: 1000 } });
    const answers = openRaw(hasty);
    answers.sendHead({ authorization: 'Bearer nobody-knows-this-key', 'content-length': 1000 });

    await once(answers.socket, 'close'); // timeouts.receive_ms

    expect(answers.text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401']);
    await hasty.close();
  });
});

describe('a body that is too large', () => {
  it('is a 413 at one byte over 32 MiB, and a 400 for its content at 32 MiB', async () => {
    const size = 32 * 1024 * 1024;
    const frame = JSON.stringify({ ...good, input: '' });
    const body = (bytes: number) => frame.replace('""', `"${'a'.repeat(bytes - frame.length)}"`);
    const over = await refusal(body(size + 1));
    expect(over.status).toBe(413);
    expect(over.message).toContain('33554432');
    expect(over.metadata).toMatchObject({ error_type: 'payload_too_large' });
    const fits = await refusal(body(size).replace('simulator/echo', 'nobodys/model1'));
    expect(fits).toMatchObject({ status: 400, message: expect.stringContaining('nobodys/model1') });
  });

  it('is a 413 also without a Content-Length', async () => {
    const piece = new Uint8Array(1024 * 1024).fill(32);
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        if (sent++ < 34) controller.enqueue(piece);
        else controller.close();
      },
    });
    const response = await fetch(`${gateway.baseUrl}/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testKeys.key}`, 'content-type': 'application/json' },
      body,
      duplex: 'half',
    } as RequestInit);
    expect(response.status).toBe(413);
  });

  it.each([
    ['arrays', `{"model":"a","input":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
    ['objects', `{"model":"a","input":"b","trace":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`],
    [
      'a tool’s schema',
      `{"model":"a","input":"b","tools":[{"type":"function","name":"f","parameters":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}]}`,
    ],
  ])('is a 400 that names the limit if %s are nested 10,000 levels deep', async (_what, body) => {
    const answer = await refusal(body);
    expect(answer.status).toBe(400);
    expect(answer.message).toMatch(/100/);
  });

  it('is a 408 if it arrives one byte at a time', async () => {
    const hasty = await testGateway({ timeouts: { receive_ms: 1000 } });
    const socket = connect(Number(new URL(hasty.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      `POST /api/v1/responses HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${testKeys.key}\r\n` +
        'content-type: application/json\r\ncontent-length: 1000\r\n\r\n{',
    );
    const drip = setInterval(() => socket.write(' '), 100);
    let text = '';
    socket.on('data', (piece) => {
      text += piece;
    });
    socket.on('error', () => {});
    await once(socket, 'close');
    clearInterval(drip);
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(text).toContain('"code":"timeout"');
    expect(text).toMatch(/x-generation-id: gen-/i);
    await hasty.close();
  });
});

describe('a body that is unusual but valid', () => {
  it('counts the last of two equal keys', async () => {
    const response = await gateway.post(
      '/responses',
      '{"model":"nobody/none","model":"simulator/echo","input":"hello"}',
    );
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ model: 'simulator/echo' });
  });

  it.each([
    ['temperature', '1e999'],
    ['max_output_tokens', '1e999'],
    ['max_output_tokens', '1.5'],
    ['max_output_tokens', '-1'],
    ['top_logprobs', '99999999999999999999999'],
  ])('rejects a number out of range with 400: %s = %s', async (field, value) => {
    const answer = await refusal(`{"model":"simulator/echo","input":"hi","${field}":${value}}`);
    expect(answer.status).toBe(400);
    expect(answer.message).toContain(field);
  });
});

describe('a request that breaks a rule', () => {
  it('lists all its problems, each with its path', async () => {
    const { status, metadata } = await refusal({
      ...good,
      previous_response_id: 'resp_1',
      store: true,
      user: 'u'.repeat(257),
      metadata: { 'a[b]': 'x' },
    });
    expect(status).toBe(400);
    const paths = (metadata as { issues: { path: string }[] }).issues.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['previous_response_id', 'store', 'user']));
    expect(paths.some((path) => path.startsWith('metadata'))).toBe(true);
    expect((metadata as { issues: object[] }).issues).toMatchObject(
      expect.arrayContaining([
        {
          path: 'previous_response_id',
          message:
            '`previous_response_id` must be null, because no response is stored, got "resp_1"; send the whole conversation in `input`.',
        },
        { path: 'store', message: '`store` must be `false`, got true; this service stores no response.' },
      ]),
    );
  });

  it.each([
    [{ role: { toString: 1 }, content: 'q' }, 'input[0].role'],
    [{ type: { toString: 1 } }, 'input[0].type'],
    [{ role: 'user', content: [{ type: { toString: 1 } }] }, 'input[0].content[0].type'],
    [{ type: ['message'], role: null, content: 'q' }, 'input[0].type'],
  ])('is a 400 if the kind of an item or part is not a string: %j', async (item, path) => {
    const answer = await refusal({ ...good, input: [item] });
    expect(answer.status).toBe(400);
    expect((answer.metadata as { issues: { path: string }[] }).issues.map((issue) => issue.path)).toContain(path);
  });

  it.each([
    [{ ...good, tool_choice: { type: 'function', name: 'nope' } }, 'tool_choice'],
    [{ ...good, input: [{ type: 'function_call_output', call_id: 'call_9', output: 'x' }] }, 'call_9'],
  ])('returns 422 for a valid shape without a meaning', async (body, named) => {
    const answer = await refusal(body);
    expect(answer.status).toBe(422);
    expect(answer.message).toContain(named);
    expect(answer.metadata).toMatchObject({ error_type: 'unprocessable' });
  });

  it.each([
    [{ ...good, plugins: [{ id: 'switchyard-router' }] }, 'switchyard-router'],
    [{ ...good, reasoning: { mode: 'pro' } }, 'reasoning.mode'],
  ])('reports an unsupported feature: %j', async (body, named) => {
    const answer = await refusal(body);
    expect(answer.status).toBe(400);
    expect(answer.message).toContain(named);
    expect(answer.message).toContain('not offered by this build');
  });

  it('returns 400 for a model without a provider, with error.availability', async () => {
    const response = await gateway.post('/responses', { ...good, model: 'nobody/none' });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        code: 400,
        availability: { code: 'model_not_found', retryable: false, requested_models: ['nobody/none'] },
      },
    });
  });
});

it('never returns 500, for any body', async () => {
  const field = fc.constantFrom(
    'model',
    'input',
    'tools',
    'text',
    'stream',
    'metadata',
    'reasoning',
    'plugins',
    'include',
  );
  const value = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom('simulator/echo', 'hi', true));
  await fc.assert(
    fc.asyncProperty(fc.dictionary(field, value, { maxKeys: 6 }), async (body) => {
      const response = await gateway.post('/responses', body);
      const text = await response.text();
      expect(response.status, text).toBeLessThan(500);
      expect(response.headers.get('x-generation-id')).toMatch(/^gen-/);
    }),
    { numRuns: 200 },
  );
});

it.each(wireNames)('a message of 60,000 parts after another one is not a 500 on %s', async (wire) => {
  const lab = await openLab();
  lab.upstream.always(json({ error: { message: 'Too much.' } }, { status: 400 }));
  const content = Array.from({ length: 60_000 }, () => ({ type: 'input_text', text: 'a' }));
  const input = ['system', 'user', 'user'].map((role, index) => ({ role, content: content.slice(index < 2 ? -1 : 0) }));
  const { status } = await lab.ask({ wire, mode: 'buffered' }, { body: { input } });
  await lab.close();
  expect(status).toBe(400);
});
