import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../domain/errors.ts';
import { routesOf } from './define-route.ts';

const check = Object.assign(
  (body: unknown): { name: string } => {
    if (typeof body === 'object' && body !== null && 'name' in body) return { name: String(body.name) };
    throw new GatewayError('invalid_request', 'name: `name` is missing.');
  },
  { schema: Type.Object({ name: Type.String() }) },
);
const route = routesOf<{ greeting: string; limit: number }>({
  base: '/api',
  tag: 'Keys',
  permission: 'management',
  isGlobal: true,
  lacks: [503],
  limitBody: ({ limit }) => ({ bytes: limit, source: 'a test' }),
  isOffered: ({ greeting }) => greeting !== '',
});
const greet = route('POST', '/people/:id', {
  id: 'greet',
  summary: 'Greet',
  permission: 'any',
  body: { check, isOptional: true },
  response: { status: 201, description: 'The greeting.', schema: Type.Object({ text: Type.String() }) },
  handle: async ({ greeting }, { params, body }) => ({ text: `${greeting}, ${body.name} ${params.id}` }),
});
const parts = { greeting: 'Hello', limit: 5 };

/** Calls the handler of a route. */
async function call(body: unknown): Promise<{ status: number; result: unknown }> {
  let status = 200;
  const reply = { code: (code: number) => (status = code) } as unknown as FastifyReply;
  const request = { body, params: { id: '7' } } as unknown as FastifyRequest;
  return { result: await greet.bind(parts).handler(request, reply), status };
}

describe('a defined route', () => {
  it('has the settings of its API, unless it replaces them', () => {
    expect(greet).toMatchObject({ method: 'POST', path: '/api/people/:id', permission: 'any' });
    expect(greet.operation).toMatchObject({ id: 'greet', tag: 'Keys', lacks: [503], body: { schema: check.schema } });
    const row = greet.bind(parts);
    expect(row).toMatchObject({ permission: 'any', isGlobal: true, bodyLimit: { bytes: 5, source: 'a test' } });
    expect(row.isOffered?.()).toBe(true);
    expect(greet.bind({ ...parts, greeting: '' }).isOffered?.()).toBe(false);
  });

  it('checks the body, and sends the result with the status of its description', async () => {
    expect(await call({ name: 'Ada' })).toEqual({ result: { text: 'Hello, Ada 7' }, status: 201 });
    await expect(call({ other: 1 })).rejects.toThrow('`name` is missing');
  });

  it('keeps the status of a failed request', async () => {
    let status: number | undefined;
    const failing = route('POST', '/people', {
      id: 'fail',
      summary: 'Fail',
      response: { status: 201, description: 'Nothing.' },
      handle: () => Promise.reject(new GatewayError('conflict', 'It exists.')),
    });
    const reply = { code: (code: number) => (status = code) } as unknown as FastifyReply;
    await expect(failing.bind(parts).handler({} as FastifyRequest, reply)).rejects.toThrow('It exists.');
    expect(status).toBeUndefined();
  });

  it('passes an empty object for an absent optional body, and nothing else', async () => {
    await expect(call(undefined)).rejects.toThrow('`name` is missing');
    await expect(call(null)).rejects.toThrow('`name` is missing');
  });

  it('opens a handler that does the rest itself', async () => {
    const handler = async () => 'done';
    const raw = route('GET', '/raw', {
      id: 'raw',
      summary: 'Do it',
      response: { description: 'Done.' },
      open: () => handler,
    });
    expect(raw.bind(parts).handler).toBe(handler);
  });
});
