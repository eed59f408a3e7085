import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestGateway, testGateway, testKeys } from '../../src/testing/test-gateway.ts';
import { type Json, main, other } from './manage.ts';

const otherKey = 'test-other-workspace-key-1';
const vendorKey = 'sk-vendor-secret-1234567890';

interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  text: string;
}

let vendor: Server;
let gateway: TestGateway;
let seen: Seen[] = [];
let respond: (response: ServerResponse) => void;

beforeAll(async () => {
  vendor = createServer(async (request, response) => {
    let text = '';
    try {
      for await (const piece of request) text += piece;
    } catch {
      return; // the gateway has closed the connection
    }
    seen.push({ method: request.method!, url: request.url!, headers: request.headers, text });
    respond(response);
  }).listen(0, '127.0.0.1');
  await once(vendor, 'listening');
  const base_url = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}/v1`;
  const account = (id: string, more: object) => ({
    id,
    base_url,
    api_key: vendorKey,
    models: [{ model: `acme/${id}`, upstream_model: 'm' }],
    ...more,
  });
  gateway = await testGateway({
    providers: [
      account('openai', { wire: 'openai-responses' }), // shared, so its files belong to no workspace
      account('acme-openai', { wire: 'openai-responses', same_as: 'openai', workspace: 'main' }),
      account('anthropic', { wire: 'anthropic-messages', workspace: 'main' }),
    ],
    files: { max_bytes: 1_000_000 },
    bootstrap: { keys: [{ key: otherKey, name: 'elsewhere', workspace: 'other', acts_as: 'organization' }] },
  });
});
afterAll(async () => {
  await gateway.close();
  vendor.closeAllConnections();
  vendor.close();
});
beforeEach(() => {
  seen = [];
  respond = (response) => response.setHeader('content-type', 'application/json').end('{"id":"file-1","odd":true}');
});

const call = async (method: string, path: string, how: { key?: string; headers?: Record<string, string> } = {}) => {
  const response = await gateway.send(method, path, undefined, how);
  return { status: response.status, headers: response.headers, text: await response.text() };
};
const messageOf = ({ text }: { text: string }): string => (JSON.parse(text) as Json).error.message;

describe('files of a vendor', () => {
  it('are listed, found and deleted with the key of the workspace', async () => {
    const list = await call('GET', '/files?provider=openai&limit=5&purpose=batch&order=desc');
    expect([list.status, list.text]).toEqual([200, '{"id":"file-1","odd":true}']);
    expect(seen[0]).toMatchObject({ method: 'GET', url: '/v1/files?limit=5&purpose=batch&order=desc' });
    expect(seen[0]!.headers.authorization).toBe(`Bearer ${vendorKey}`);

    await call('GET', '/files/file-1?provider=openai');
    await call('DELETE', `/files/file-1?provider=openai&workspace_id=${main}`);
    expect(seen.slice(1).map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /v1/files/file-1',
      'DELETE /v1/files/file-1',
    ]);
  });

  it('are uploaded unchanged', async () => {
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new File(['x'.repeat(300_000)], 'a.bin'));
    form.append('expires_after[seconds]', '3600');
    const response = await fetch(`${gateway.baseUrl}/files?provider=openai`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testKeys.key}` },
      body: form,
    });
    expect(await response.json()).toEqual({ id: 'file-1', odd: true });
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/v1/files' });
    expect(seen[0]!.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(seen[0]!.text).toContain('x'.repeat(300_000));
    expect(seen[0]!.text).toContain('expires_after[seconds]');
    expect((await (await gateway.get('/files')).json()) as Json).toMatchObject({ data: [] });
  });

  it('of Anthropic get the headers that its API needs', async () => {
    await call('GET', '/files?provider=anthropic');
    expect(seen[0]!.headers).toMatchObject({
      'x-api-key': vendorKey,
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'files-api-2025-04-14',
    });
    await call('GET', '/files?provider=anthropic', { headers: { 'anthropic-beta': 'files-api-2026-01-01' } });
    expect(seen[1]!.headers['anthropic-beta']).toBe('files-api-2026-01-01');
    expect(seen[1]!.headers.authorization).toBeUndefined();
  });

  it('are downloaded as they arrive', async () => {
    const content = Buffer.alloc(3_000_000, 'abc');
    respond = (response) => response.setHeader('content-disposition', 'attachment').end(content);
    const response = await gateway.get('/files/file-1/content?provider=openai');
    expect(seen[0]!.url).toBe('/v1/files/file-1/content');
    expect(response.headers.get('content-disposition')).toBe('attachment');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true);
  });

  it('need a key of the workspace itself', async () => {
    const answer = await call('GET', '/files?provider=openai', { key: otherKey });
    expect(answer.status).toBe(400);
    expect(messageOf(answer)).toContain('the workspace has no key of its own at openai. Add a provider');
    const managed = await call('GET', `/files?provider=openai&workspace_id=${other}`, { key: testKeys.managementKey });
    expect(managed.status).toBe(400);
    expect((await call('GET', `/files?provider=openai&workspace_id=${main}`, { key: otherKey })).status).toBe(403);
    expect((await call('GET', '/files?provider=openai&workspace_id=x')).status).toBe(400);
    expect(seen).toEqual([]);
  });

  it.each([
    [400, 400],
    [401, 502],
    [404, 404],
    [413, 413],
    [429, 429],
    [500, 502],
    [302, 502],
  ])('that the vendor refuses with %i are a %i', async (sent, status) => {
    respond = (response) => {
      response.statusCode = sent;
      response.end(JSON.stringify({ error: { message: `No file. Your key is ${vendorKey}.` } }));
    };
    const answer = await call('GET', '/files/file-1?provider=openai');
    expect(answer.status).toBe(status);
    expect(messageOf(answer)).toContain(`responded with ${sent}: No file. Your key is [masked]`);
  });

  it.each(['%2e%2e', '..%2fmodels', 'a.b'])('have no id %s', async (id) => {
    const answer = await call('GET', `/files/${id}/content?provider=openai`);
    expect(answer.status).toBe(404);
    expect(seen).toEqual([]);
  });

  it('that are too large are a 413, with and without a declared length', async () => {
    const headers = { authorization: `Bearer ${testKeys.key}`, 'content-type': 'multipart/form-data; boundary=b' };
    const url = `${gateway.baseUrl}/files?provider=openai`;
    const large = Buffer.alloc(1_500_000);
    const declared = await fetch(url, { method: 'POST', headers, body: large });
    expect(declared.status).toBe(413);
    const body = new ReadableStream({
      start(controller) {
        for (let count = 0; count < 15; count++) controller.enqueue(large.subarray(0, 100_000));
        controller.close();
      },
    });
    const streamed = await fetch(url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
    expect(streamed.status).toBe(413);
    expect(seen).toEqual([]);
  });
});
