import { connect } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Caller } from '../domain/caller.ts';
import { asGatewayError, GatewayError } from '../domain/errors.ts';
import { BodyBudget } from './body-budget.ts';
import type { ErrorDialect } from './error-dialect.ts';
import { createOpenRequests } from './open-requests.ts';
import type { Route } from './routes.ts';
import { createServer } from './server.ts';

let app: FastifyInstance | undefined;
afterEach(() => app?.close());

/** The error dialect of another API. */
const dialect: ErrorDialect = (thrown) => {
  const { status, errorType, message } = asGatewayError(thrown);
  return { status, headers: { 'x-dialect': 'other' }, body: { type: 'error', error: { type: errorType, message } } };
};

const fail: Route['handler'] = async () => {
  throw new GatewayError('unprocessable', 'It contradicts itself.');
};
const crash: Route['handler'] = async () => {
  throw new TypeError('a secret of the gateway');
};

const open = createOpenRequests();

async function serve(
  options: { isDraining?: boolean; identify?: () => Promise<Caller> } = {},
): Promise<FastifyInstance> {
  const row = { method: 'POST', permission: 'inference', handler: fail } as const;
  app = await createServer({
    routes: [
      { ...row, path: '/api/v1/other', errors: dialect, bodyLimit: { bytes: 300, source: 'other.body_limit' } },
      { ...row, path: '/api/v1/crash', errors: dialect, handler: crash },
      { ...row, path: '/api/v1/plain' },
    ],
    identify([authorization]) {
      if (options.identify) return options.identify();
      if (authorization === undefined) throw new GatewayError('authentication', 'Missing authentication header.');
      return { kind: authorization } as unknown as Caller; // only the fields that the server reads
    },
    isDraining: () => options.isDraining ?? false,
    isClosing: () => options.isDraining ?? false,
    open,
    bodyLimit: 1000,
    bodies: new BodyBudget(() => 1_000_000),
    receiveMs: 1000,
    regionalHosts: () => [],
    corsOrigins: [],
    receivedAt: () => 0,
    watchRoute: () => () => {},
  });
  return app;
}

async function post(path: string, body: string, headers: Record<string, string> = {}) {
  const response = await app!.inject({
    method: 'POST',
    url: `/api/v1${path}`,
    payload: body,
    headers: { authorization: 'member', 'content-type': 'application/json', ...headers },
  });
  return { status: response.statusCode, headers: response.headers, body: response.json() as Record<string, unknown> };
}

it.each([
  ['a handler', 422, 'unprocessable', '{}', {}],
  ['a body that is not JSON', 400, 'invalid_request', '{', {}],
  ['a body that is nested too deep', 400, 'invalid_request', `${'['.repeat(101)}${']'.repeat(101)}`, {}],
  ['a body that is too large', 413, 'payload_too_large', ' '.repeat(301), {}],
  ['another content type', 400, 'invalid_request', '{}', { 'content-type': 'text/xml' }],
  ['a key of the wrong kind', 403, 'permission_denied', '{}', { authorization: 'management' }],
])('writes the errors of %s in the dialect of the route', async (_, status, type, body, headers) => {
  await serve();
  const response = await post('/other', body, headers as Record<string, string>);
  expect(response).toMatchObject({
    status,
    headers: { 'x-dialect': 'other' },
    body: { type: 'error', error: { type } },
  });
  expect(response.body['error']).not.toHaveProperty('code');
});

it('writes a missing key, a shutdown and a fault of the gateway in the dialect of the route', async () => {
  await serve();
  const missing = await app!.inject({ method: 'POST', url: '/api/v1/other' });
  expect(missing.statusCode).toBe(401);
  expect(missing.json()).toMatchObject({ type: 'error', error: { type: 'authentication' } });
  const crashed = await post('/crash', '{}');
  expect(crashed).toMatchObject({ status: 500, body: { type: 'error', error: { type: 'server' } } });
  expect(JSON.stringify(crashed.body)).not.toContain('secret');
  await app!.close();

  await serve({ isDraining: true });
  expect(await post('/other', '{}')).toMatchObject({ status: 503, body: { error: { type: 'provider_overloaded' } } });
});

it('writes the envelope on other routes and on unknown paths', async () => {
  await serve();
  expect(await post('/plain', '{}')).toMatchObject({ status: 422, body: { error: { code: 422 } } });
  expect(await post('/nowhere', '{}')).toMatchObject({ status: 404, body: { error: { code: 404 } } });
});

describe('a key that is looked up', () => {
  it('lets the request in, or rejects it', async () => {
    await serve({ identify: async () => ({ kind: 'member' }) as Caller });
    expect((await post('/plain', '{}')).status).toBe(422);
    await app!.close();
    await serve({ identify: () => Promise.reject(new GatewayError('unavailable', 'The store is gone.')) });
    expect(await post('/plain', '{}')).toMatchObject({
      status: 503,
      body: { error: { message: 'The store is gone.' } },
    });
  });

  it('does not let a request in whose client has disconnected', async () => {
    const asked = Promise.withResolvers<void>();
    const found = Promise.withResolvers<Caller>();
    await serve({
      identify() {
        asked.resolve();
        return found.promise;
      },
    });
    const begin = vi.spyOn(open, 'begin');
    const closed = new Promise((resolve) => {
      app!.server.once('connection', (socket) => socket.once('close', resolve));
    });
    const address = await app!.listen({ host: '127.0.0.1', port: 0 });
    const client = connect(Number(new URL(address).port), '127.0.0.1');
    client.write('POST /api/v1/plain HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}');
    await asked.promise;
    client.destroy();
    await closed;
    await new Promise(setImmediate); // the response closes after its socket
    found.resolve({ kind: 'member' } as Caller);
    await found.promise;
    await new Promise(setImmediate);
    expect(begin).not.toHaveBeenCalled();
  });
});
