import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

/** @see docs/reference/http.md#methods */

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway({ interns: {}, server: { body_limit: 1024 }, images: { body_limit: 1024 } });
});
afterAll(() => gateway.close());

type Body = { error: Record<string, unknown> } & Record<string, unknown>;

/** Checks whether an error has the form of an API. */
const forms: Record<string, (body: Body, status: number) => void> = {
  envelope(body, status) {
    expect(body).toEqual({
      error: {
        code: status,
        message: expect.any(String),
        type: expect.any(String),
        param: body.error['param'] ?? null, // the first invalid field
        metadata: expect.objectContaining({ error_type: expect.any(String) }),
      },
    });
  },
  openai({ error, ...rest }) {
    expect(rest).toEqual({});
    expect(error).toMatchObject({ code: expect.any(String), type: expect.any(String), message: expect.any(String) });
    expect(error).toHaveProperty('param');
  },
  cohere({ message, ...body }, status) {
    forms['envelope']!(body as Body, status);
    expect(message).toBe(body.error!['message']);
  },
  messages(body, status) {
    expect(body).toMatchObject({
      type: 'error',
      request_id: expect.stringMatching(/^req_/),
      error: { type: expect.stringMatching(/_error$|^request_too_large$/), code: status, message: expect.any(String) },
    });
  },
  interns({ error, ...rest }, status) {
    expect(rest).toEqual({});
    expect([status, 'not_found', 'invalid_body', 'payload_too_large', 'unsupported_media_type']).toContain(
      error['code'],
    );
    expect(error['metadata'] ?? {}).not.toHaveProperty('error_type');
  },
};

/** A path of each API, and the form of its errors. */
const apis: [string, string][] = [
  ['/responses', 'envelope'],
  ['/responses/input_tokens', 'envelope'],
  ['/responses/compact', 'envelope'],
  ['/chat/completions', 'openai'],
  ['/completions', 'openai'],
  ['/embeddings', 'openai'],
  ['/messages', 'messages'],
  ['/messages/count_tokens', 'messages'],
  ['/images', 'envelope'],
  ['/images/generations', 'openai'],
  ['/images/edits', 'openai'],
  ['/rerank', 'cohere'],
  ['/interns', 'interns'],
  ['/presets', 'envelope'],
];

const jsonType = { 'content-type': 'application/json' };

describe.each(apis)('errors of %s', (path, form) => {
  const check = async (url: string, init: RequestInit, status: number, key: string | null = gateway.key) => {
    const headers = { ...(key !== null && { authorization: `Bearer ${key}` }), ...(init.headers as object) };
    const response = await fetch(url, { ...init, headers });
    const text = await response.text();
    expect(response.status, text).toBe(status);
    forms[form]!(JSON.parse(text) as Body, status);
  };
  const at = (more = ''): string => `${gateway.baseUrl}${path}${more}`;

  it('have its form for another method, with a key and without one', async () => {
    await check(at(), { method: 'PUT' }, 405);
    await check(at(), { method: 'PUT' }, 401, null);
    await check(at('?a=b'), { method: 'DELETE' }, 405);
  });

  it('have its form on paths below it that do not exist', async () => {
    await check(at('/a/b/c/d/e'), { method: 'POST', headers: jsonType, body: '{}' }, 404);
    await check(at('/a/b/c/d/e'), {}, 401, null);
    await check(at('/%zz'), {}, 400);
  });

  it('have its form for the body', async () => {
    const post = (body: string, headers: Record<string, string> = jsonType) => ({ method: 'POST', body, headers });
    const isIntern = form === 'interns';
    await check(at(), post('{'), 400);
    await check(at(), post('{}', { 'content-type': 'text/xml' }), isIntern ? 415 : 400);
    await check(at(), post('{}', { ...jsonType, 'content-encoding': 'gzip' }), 400);
    await check(at(), post('{}'), 401, 'wrong-key-wrong-key');
    await check(at(), post(`{"a":"${'x'.repeat(2_000_000)}"}`), 413);
  });

  it('have its form with a wrong base URL', async () => {
    if (form !== 'interns') await check(`${gateway.url}/api/v3${path}`, { method: 'POST' }, 404);
  });
});

describe('a management key', () => {
  it('is a 401 for the objects of a workspace, which it does not have', async () => {
    for (const path of ['/presets', '/interns', '/containers/c/files']) {
      expect([path, (await gateway.get(path, { key: gateway.managementKey })).status]).toEqual([path, 401]);
    }
  });

  it('must name the workspace of files', async () => {
    const form = new FormData();
    form.set('file', new Blob(['a,b'], { type: 'text/csv' }), 'a.csv');
    const headers = { authorization: `Bearer ${gateway.managementKey}` };
    const upload = await fetch(`${gateway.baseUrl}/files`, { method: 'POST', headers, body: form });
    for (const response of [upload, await gateway.get('/files', { key: gateway.managementKey })]) {
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { metadata: { issues: [{ path: 'workspace_id' }] } } });
    }
  });
});

describe('an offset', () => {
  it.each([
    ['4212982179530578', 200],
    [String(Number.MAX_SAFE_INTEGER), 200],
    ['9007199254740992', 400],
    ['-1', 400],
  ])('of %s is a %i', async (offset, status) => {
    const response = await gateway.get(`/workspaces?offset=${offset}`, { key: gateway.managementKey });
    expect(response.status).toBe(status);
  });
});

describe('Allow', () => {
  it.each([
    ['PUT', '/guardrails/test', 'POST'],
    ['PATCH', '/vault/interns/an-intern/secrets/copy', 'POST'],
    ['PATCH', '/vault/interns/an-intern/secrets/other', 'PUT, DELETE'],
    ['DELETE', '/models/count', 'GET, HEAD'],
    ['POST', '/guardrails/assignments/keys', 'GET, HEAD'],
  ])('of %s %s has the methods of the most specific path', async (method, path, allowed) => {
    const response = await gateway.send(method, path, undefined, { key: gateway.managementKey });
    expect([response.status, response.headers.get('allow')]).toEqual([405, allowed]);
  });
});
