import { Validator } from '@seriousme/openapi-schema-validator';
import { Compile } from 'typebox/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { version } from '../../src/cli/version.ts';
import { definedRoutes } from '../../src/api/routes.ts';
import { createDocument } from '../../src/openapi/create-document.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { ScriptedHost } from '../../src/testing/scripted-runtime.ts';
import { pickDefinitions } from '../interface/pick-definitions.ts';

interface Described {
  operationId: string;
  responses: Record<string, { content?: Record<string, { schema: object; example?: unknown }> }>;
  requestBody?: { content: Record<string, { schema: object; example?: unknown }> };
}
interface Document {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, object> };
}

/** Refuses connections. */
const webhook = { id: 'ops', url: 'http://127.0.0.1:9/hook' };
const document = createDocument('1.2.3', definedRoutes) as unknown as Document;
const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

/** The schemas of the document with closed objects, so that a field without a description is found. */
const { schemas: closedSchemas } = close(document.components) as Document['components'];

/** Adds `additionalProperties: false` to every schema with properties that does not say otherwise. */
function close(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(close);
  if (typeof node !== 'object' || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, close(value)]));
  return 'properties' in node && !('additionalProperties' in node) ? { ...copy, additionalProperties: false } : copy;
}

const validators = new Map<string, ReturnType<typeof compile>>();

function compile(schema: object) {
  const closed = close(schema) as object;
  return Compile({ ...closed, components: { schemas: pickDefinitions(closed, closedSchemas) } } as object);
}

function check(schema: object, value: unknown): void {
  const name = JSON.stringify(schema);
  const validator = validators.get(name) ?? compile(schema);
  validators.set(name, validator);
  if (!validator.Check(value)) expect.fail(JSON.stringify([validator.Errors(value)[1].slice(0, 5), value]));
}

/** Returns the fields of each event of a stream. */
const readEvents = (stream: string): object[] =>
  stream
    .split('\n\n')
    .map((event) => [...event.matchAll(/^(\w+): (.*)$/gm)].map(([, field, value]) => [field, value]))
    .flatMap((fields) => (fields.length > 0 ? [Object.fromEntries(fields) as object] : []));

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const validate = (described: object) => new Validator().validate(structuredClone(described) as never);
    expect(await validate(document)).toMatchObject({ valid: true });
    expect(await validate({ ...document, paths: { '/x': { get: 5 } } })).toMatchObject({ valid: false });
  });

  it('has a different id for each operation', () => {
    const ids = described.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toContain('createResponse');
  });

  it('refers only to schemas that it has', () => {
    const names = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    expect(new Set(names)).toEqual(new Set(Object.keys(document.components.schemas)));
  });

  it('is what headgate openapi prints', async () => {
    const printed: string[] = [];
    const stdout = { write: (text: string) => printed.push(text) > 0 };
    const terminal = { stdout, stderr: { write: () => true }, env: {}, cwd: '/' };
    expect(await runCli(['openapi'], terminal)).toBe(0);
    expect(JSON.parse(printed.join(''))).toEqual(createDocument(version, definedRoutes));
  });

  it('is checked strictly: a field that it does not describe fails', () => {
    const { schema } = document.paths['/health']!['get']!.responses[200]!.content!['application/json']!;
    const body = { status: 'ok', name: 'headgate', version: '1' };
    check(schema, body);
    expect(() => check(schema, { ...body, mood: 'good' })).toThrow();
    expect(() => check(schema, { ...body, version: 1 })).toThrow();
  });

  it('has the version of the interface, and that of the gateway beside it', () => {
    expect(document).toMatchObject({ info: { version: '1.0.0', 'x-gateway-version': '1.2.3' } });
  });

  /** The statuses of errors as the interface lists them. */
  it.each([
    ['post', '/api/v1/responses', [400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 524, 529]],
    ['post', '/api/v1/images', [400, 401, 402, 403, 404, 413, 429, 500, 502, 524, 529]],
    ['get', '/api/v1/containers/{container_id}/files', [400, 401, 403, 429, 500, 503]],
  ])('lists the statuses of %s %s', (method, path, statuses) => {
    const { responses } = document.paths[path]![method]!;
    expect(
      Object.keys(responses)
        .map(Number)
        .filter((status) => status >= 400),
    ).toEqual(statuses);
  });

  it('lists the replay of a created intern, and no 503 for interns', () => {
    const { responses } = document.paths['/api/v1/interns']!['post']!;
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '201', '502']));
    expect(responses).not.toHaveProperty('503');
    expect(responses['200']!.content).toEqual(responses['201']!.content);
  });

  it('has patterns that the engines of Go, Rust and Python compile', () => {
    const patterns = [...JSON.stringify(document).matchAll(/"pattern":("(?:[^"\\\\]|\\\\.)*")/g)].map(
      ([, text]) => JSON.parse(text!) as string,
    );
    expect(patterns.length).toBeGreaterThan(100);
    // Go and Rust have neither lookaround nor references, and no half surrogate pairs. Python has no `\\p`.
    expect(patterns.filter((pattern) => /\(\?[=!<]|\\[1-9pPk]|\\ud[89a-f]/i.test(pattern))).toEqual([]);
  });

  it('marks what is deprecated, and has the maximum of max_tool_calls', () => {
    const { ResponseRequest: request } = document.components.schemas as Record<string, { properties: object }>;
    expect(request!.properties).toMatchObject({ route: { deprecated: true } });
    expect(JSON.stringify(request!.properties)).toContain('"minimum":0,"maximum":30');
    expect(JSON.stringify(document.components)).toMatch(/"cost_quality_tradeoff":\{[^}]*"deprecated":true/);
    const { parameters } = document.paths['/api/v1/responses']!['post'] as unknown as { parameters: object[] };
    expect(parameters).toContainEqual(
      expect.objectContaining({ name: 'X-Router-Experimental-Metadata', in: 'header', deprecated: true }),
    );
  });

  it('has only names and forms that generators of clients read', () => {
    // oapi-codegen numbers the members of unions, so a component must not end with a number.
    expect(Object.keys(document.components.schemas).filter((name) => /\d$/.test(name))).toEqual([]);
    const found: string[] = [];
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== 'object' || node === null) return;
      const { type, const: constant, default: byDefault, properties, anyOf, allOf } = node as Record<string, unknown>;
      if (properties && (anyOf ?? allOf)) found.push(`${path} has fields beside other shapes`);
      const isMember = /\/anyOf\/\d+$/.test(path);
      if (type === 'null' && !isMember) found.push(`${path} is only null`);
      if (constant !== undefined && constant !== null && typeof constant !== 'string' && !path.endsWith('/not'))
        found.push(`${path} is a constant`);
      if (byDefault !== undefined && path.startsWith('/components')) found.push(`${path} has a default`);
      for (const [name, value] of Object.entries(node)) visit(value, `${path}/${name}`);
    };
    visit({ paths: document.paths, components: document.components }, '');
    expect(found).toEqual([]);
  });

  it('has examples that match their schemas', () => {
    for (const { operation } of described) {
      const bodies = [operation.requestBody, ...Object.values(operation.responses)];
      for (const { schema, example } of bodies.flatMap((body) => Object.values(body?.content ?? {}))) {
        if (example !== undefined) check(schema, example);
      }
    }
  });
});

describe('the running gateway', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    const host = new ScriptedHost();
    gateway = await testGateway(
      { interns: { schedules: { enabled: true } }, alerts: { webhooks: [webhook] } },
      undefined,
      {
        internRuntime: host.createRuntime(),
        internVaults: host.internVaults,
      },
    );
  });
  afterAll(() => gateway.close());

  const managed = (): { key: string } => ({ key: gateway.managementKey });
  const covered = new Set<string>();

  /** Sends a request, and checks its response against the schema of its status. */
  async function request(method: string, template: string, given: Given = {}): Promise<Record<string, never>> {
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => given.path?.[name] ?? '');
    const signedIn = given.headers && { headers: given.headers, key: null };
    const options = given.isManaged ? managed() : (signedIn ?? {});
    const isPublic = !path.startsWith('/api/');
    const url = path + (given.query ?? '');
    const response = isPublic
      ? await fetch(new URL(url, gateway.baseUrl))
      : await gateway.send(method, url, given.body, options);
    const operation = document.paths[template]?.[method.toLowerCase()];
    const { content } = operation?.responses[response.status] ?? {};
    const text = await response.text();
    covered.add(operation!.operationId);
    expect(content, `${method} ${template}: ${response.status} ${text}`).toBeDefined();
    expect(response.status, `${method} ${template}: ${text}`).toBe(given.status ?? 200);
    if (response.status === 204) {
      expect([text, content]).toEqual(['', {}]);
      return {};
    }
    const type = response.headers.get('content-type')!.split(';', 1)[0]!;
    const body = type === 'application/json' ? (JSON.parse(text) as Record<string, never>) : {};
    const values = type === 'application/json' ? [body] : type === 'text/event-stream' ? readEvents(text) : [text];
    for (const value of values) check(content![type]!.schema, value);
    return body;
  }
  interface Given {
    path?: Record<string, string>;
    query?: string;
    body?: unknown;
    isManaged?: boolean;
    /** The request has these headers, and no key. */
    headers?: Record<string, string>;
    status?: number;
  }

  it('has every route of the document', async () => {
    for (const { method, path } of described) {
      const url = path.replace(/\{\w+\}/g, 'x').replace(/^\/api\/v1/, '');
      const response = await gateway.send(method, url, undefined, { key: null });
      const body = await response.text();
      const isSignIn = method === 'POST' && path.endsWith('/console/sessions');
      const status = isSignIn ? 400 : path.includes('/webhooks/{token}') ? 404 : 401; // its token is in the path
      if (path.startsWith('/api/') && path !== '/api/v1/openapi.json') expect(response.status, path).toBe(status);
      expect(body).not.toContain('There is no');
    }
  });

  it('ignores parameters of the query that clients add, except on routes of management and reports', async () => {
    // A misspelled filter would return too much, and no client of another API has these routes.
    const reports = new Set(['/api/v1/generations', '/api/v1/generations/live', '/api/v1/analytics']);
    const strict = new Set(
      definedRoutes.flatMap(({ method, path, permission }) =>
        permission === 'management' || reports.has(path) ? `${method} ${path}` : [],
      ),
    );
    const added = ['beta', 'api-version', 'utm_source'];
    for (const { method, path } of described) {
      const isStrict = strict.has(`${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`);
      const url = `${path.replace(/\{\w+\}/g, 'x')}?${added.map((name) => `${name}=1`).join('&')}`;
      const body = method === 'GET' || method === 'DELETE' ? undefined : {};
      const response = await gateway.send(method, url.replace(/^\/api\/v1(?=\/)/, ''), body, isStrict ? managed() : {});
      const issues = JSON.stringify(((await response.json().catch(() => ({}))) as { error?: object }).error ?? {});
      if (!isStrict)
        expect(
          added.filter((name) => issues.includes(name)),
          `${method} ${url}`,
        ).toEqual([]);
      if (`${method} ${path}` === 'GET /api/v1/keys')
        expect(issues).toContain('`beta` is not a parameter of this route');
    }
  });

  it('serves it without a key', async () => {
    const response = await gateway.get('/openapi.json', { key: null });
    expect(response.status).toBe(200);
    const { paths } = (await response.json()) as Document;
    expect(paths).toEqual(document.paths);
  });

  it('responds as the document says, to inference keys', async () => {
    const metadata = { model: 'simulator/echo', input: 'Hello' };
    await request('POST', '/api/v1/responses', { body: metadata });
    await request('POST', '/api/v1/responses', { body: { ...metadata, user: 5 }, status: 400 });
    await request('POST', '/api/v1/responses', { body: { ...metadata, stream: true } });
    await request('POST', '/api/v1/responses/input_tokens', { body: metadata });
    await request('POST', '/api/v1/responses/compact', { body: metadata });
    await request('POST', '/api/v1/responses/compact', { body: { model: 'simulator/echo' }, status: 422 });
    const chat = { model: 'simulator/echo', messages: [{ role: 'user', content: 'Hello' }] };
    await request('POST', '/api/v1/chat/completions', { body: chat });
    await request('POST', '/api/v1/chat/completions', { body: { ...chat, user: 5 }, status: 400 });
    await request('POST', '/api/v1/chat/completions', { body: { ...chat, stream: true } });
    await request('POST', '/api/v1/messages', { body: chat });
    await request('POST', '/api/v1/messages', { body: { ...chat, top_k: 'a' }, status: 400 });
    await request('POST', '/api/v1/messages', { body: { ...chat, stream: true } });
    await request('POST', '/api/v1/messages/count_tokens', { body: chat });
    const contents = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] };
    const call = (action: string) => ({ path: { model: `simulator/echo:${action}` }, body: contents });
    for (const version of ['v1', 'v1beta']) {
      for (const list of ['models', 'tunedModels'])
        await request('POST', `/api/${version}/${list}/{model}`, call('generateContent'));
    }
    const named = { author: 'simulator', call: 'echo:generateContent' };
    await request('POST', '/api/v1beta/{author}/{call}', { path: named, body: contents });
    const gemini = '/api/v1beta/models/{model}';
    await request('POST', gemini, call('countTokens'));
    await request('POST', gemini, { ...call('streamGenerateContent'), query: '?alt=sse' });
    await request('POST', gemini, { ...call('generateContent'), body: {}, status: 400 });
    const embed = { content: { parts: [{ text: 'A fox' }] } };
    await request('POST', gemini, { path: { model: 'simulator/embedding:embedContent' }, body: embed });
    await request('POST', gemini, {
      path: { model: 'simulator/embedding:batchEmbedContents' },
      body: { requests: [embed] },
    });
    await request('GET', '/api/v1beta/models');
    await request('GET', gemini, { path: { model: 'simulator/echo' } });
    await request('GET', gemini, { path: { model: 'a/none' }, status: 404 });
    await request('POST', '/api/v1/completions', { body: { model: 'simulator/echo', prompt: 'Hello' } });
    const drawing = { model: 'simulator/image', prompt: 'A circle', size: '64x64' };
    await request('POST', '/api/v1/images', { body: drawing });
    await request('POST', '/api/v1/images/generations', { body: drawing });
    await request('POST', '/api/v1/images/generations', { body: { ...drawing, stream: true } });
    await request('POST', '/api/v1/images/edits', { body: drawing, status: 400 });
    await request('POST', '/api/v1/embeddings', { body: { model: 'simulator/embedding', input: 'A fox' } });
    const ranking = { model: 'simulator/rerank', query: 'fox', documents: ['A fox', 'A bird'] };
    await request('POST', '/api/v1/rerank', { body: ranking });
    for (const path of ['embeddings/models', 'rerank/models']) await request('GET', `/api/v1/${path}`);
    const listed = (await request('GET', '/api/v1/generations')) as unknown as { data: { id: string }[] };
    const query = `?id=${listed.data[0]!.id}`;
    await request('GET', '/api/v1/generation', { query });
    const lists = [
      'models',
      'models/user',
      'models/count',
      'endpoints/zdr',
      'providers',
      'images/models',
      'key',
      'files',
    ];
    for (const path of lists) {
      await request('GET', `/api/v1/${path}`);
    }
    await request('GET', '/api/v1/model/{model}', { path: { model: 'simulator/echo' } });
    await request('GET', '/api/v1/models/{model}', { path: { model: 'simulator/echo' } });
    await request('GET', '/api/v1/models/{model}', { path: { model: 'a/none' }, status: 404 });
    for (const path of ['/api/v1/models', '/api/v1/images/models']) {
      const slug = path.includes('images') ? 'image' : 'echo';
      await request('GET', `${path}/{author}/{slug}/endpoints`, { path: { author: 'simulator', slug } });
    }
    await request('GET', '/api/v1/containers/{container_id}/files', { path: { container_id: 'cntr_1' } });
    await request('POST', '/api/v1/presets', { body: { slug: 'short', config: { temperature: 0 } }, status: 201 });
    await request('GET', '/api/v1/presets');
    const path = { slug: 'short', version: '1' };
    await request('PATCH', '/api/v1/presets/{slug}', { path, body: { description: 'Short.' } });
    await request('POST', '/api/v1/presets/{slug}/responses', { path, body: { model: 'simulator/echo' } });
    for (const format of ['chat/completions', 'messages']) {
      await request('POST', `/api/v1/presets/{slug}/${format}`, { path, body: { model: 'simulator/echo' } });
    }
    for (const rest of ['', '/versions', '/versions/{version}'])
      await request('GET', `/api/v1/presets/{slug}${rest}`, { path });
    await request('DELETE', '/api/v1/presets/{slug}', { path });

    const secret = { path: { name: 'token', internId: 'none' } };
    await request('PUT', '/api/v1/vault/secrets/{name}', { ...secret, body: { value: 'v', hosts: ['a.example'] } });
    await request('GET', '/api/v1/vault/secrets');
    await request('DELETE', '/api/v1/vault/secrets/{name}', { ...secret, status: 204 });
    const missing = { ...secret, status: 404 };
    const body = { names: ['token'] };
    await request('POST', '/api/v1/vault/interns/{internId}/secrets/copy', { ...missing, body });
    for (const list of ['secrets', 'effective-secrets']) {
      await request('GET', `/api/v1/vault/interns/{internId}/${list}`, missing);
    }
    const intern = '/api/v1/vault/interns/{internId}/secrets/{name}';
    await request('PUT', intern, { ...missing, body: { value: 'v', hosts: ['a.example'] } });
    await request('DELETE', intern, missing);
  });

  it('responds as the document says, about interns', async () => {
    const body = { name: 'scout', workspace_id: '00000000-0000-4000-8000-0000000000a1' };
    const created = await request('POST', '/api/v1/interns', { body, status: 201 });
    const path = { intern_id: String(created['id']) };
    await request('POST', '/api/v1/interns', { body: { ...body, model: 'a/b' }, status: 400 });
    await request('GET', '/api/v1/interns');
    await request('GET', '/api/v1/interns/{intern_id}', { path });
    await request('PATCH', '/api/v1/interns/{intern_id}', { path, body: { description: 'Reads.' } });
    await request('POST', '/api/v1/interns/{intern_id}/suspend', { path, status: 409 });
    const messages = [{ role: 'user', content: 'Hello' }];
    const chat = { path, body: { stream: true, messages }, status: 409 };
    await request('POST', '/api/v1/interns/{intern_id}/chat/completions', chat);
    await request('POST', '/api/v1/interns/{intern_id}/invoke', { path, body: { input: 'Hello' }, status: 409 });
    await request('GET', '/api/v1/interns/{intern_id}/logs', { path, status: 409 });
    await request('GET', '/api/v1/interns/{intern_id}/daemon', { path, status: 409 });
    await request('GET', '/api/v1/interns/{intern_id}/daemon-access', { path, status: 409 });
    const schedules = '/api/v1/interns/{intern_id}/schedules';
    const hook = await request('POST', schedules, { path, body: { kind: 'webhook', input: 'Go.' }, status: 201 });
    await request('GET', schedules, { path });
    const one = { path: { ...path, schedule_id: String(hook.id) } };
    await request('GET', `${schedules}/{schedule_id}`, one);
    await request('PATCH', `${schedules}/{schedule_id}`, { ...one, body: { paused: false } });
    const token = { path: { ...path, token: String(hook['token']) } };
    await request('POST', '/api/v1/interns/{intern_id}/webhooks/{token}', { ...token, status: 202 });
    await request('DELETE', `${schedules}/{schedule_id}`, one);
    await request('POST', '/api/v1/interns/{intern_id}/provision', { path, status: 202 });
    await request('DELETE', '/api/v1/interns/{intern_id}', { path, status: 202 });
  });

  it('responds as the document says, to management keys', async () => {
    const isManaged = true;
    const create = async (path: string, body: object) =>
      (await request('POST', path, { isManaged, body, status: 201 })) as unknown as {
        data: { id: string; hash: string };
      };
    const { data: workspace } = await create('/api/v1/workspaces', { name: 'Lab', slug: 'lab' });
    const id = workspace.id;
    const { data: key } = await create('/api/v1/keys', { name: 'shop', limit: 5, workspace_id: id });
    const { data: guardrail } = await create('/api/v1/guardrails', {
      name: 'cheap',
      limit_usd: 5,
      reset_interval: 'daily',
      workspace_id: id,
    });
    const path = { id, interval: 'daily', hash: key.hash };
    const of = { isManaged, path };
    await request('PUT', '/api/v1/workspaces/{id}/budgets/{interval}', { ...of, body: { limit_usd: 5 } });
    for (const rest of ['', '/budgets', '/budgets/{interval}', '/members'])
      await request('GET', `/api/v1/workspaces/{id}${rest}`, of);
    await request('PATCH', '/api/v1/workspaces/{id}', { ...of, body: { default_text_model: 'a/unknown' } });
    const adas = { ...of, body: { user_ids: ['ada'] } };
    await request('POST', '/api/v1/workspaces/{id}/members/add', adas);
    await request('GET', '/api/v1/keys/{hash}', of);
    await request('PATCH', '/api/v1/keys/{hash}', { ...of, body: { name: 'store' } });
    await request('POST', '/api/v1/keys/{hash}/rotate', { ...of, body: { grace_seconds: 60 }, status: 201 });
    await request('GET', '/api/v1/members/{id}', { isManaged, path: { id: 'ada' } });
    await request('POST', '/api/v1/alerts/test', { isManaged, body: { webhook: 'ops' }, status: 202 });
    await request('GET', '/api/v1/alerts', { isManaged });
    await request('GET', '/api/v1/config', { isManaged });
    const hook = { path: { id: 'added' }, isManaged };
    await request('PUT', '/api/v1/alerts/webhooks/{id}', { ...hook, body: { url: 'https://alerts.example.com/x' } });
    await request('GET', '/api/v1/alerts/settings', { isManaged });
    await request('PATCH', '/api/v1/alerts/settings', { isManaged, body: { error_percent: 10 } });
    await request('PATCH', '/api/v1/alerts/settings', { isManaged, body: { error_percent: 0 }, status: 400 });
    await request('DELETE', '/api/v1/alerts/webhooks/{id}', hook);
    await request('DELETE', '/api/v1/alerts/webhooks/{id}', { ...hook, status: 404 });
    await request('PATCH', '/api/v1/members/{id}', { isManaged, path: { id: 'ada' }, body: {} });
    const guarded = { isManaged, path: { id: guardrail.id } };
    const sides = { keys: { key_hashes: [key.hash] }, members: { member_user_ids: ['ada'] } };
    for (const [side, body] of Object.entries(sides)) {
      await request('POST', `/api/v1/guardrails/{id}/assignments/${side}`, { ...guarded, body });
      await request('GET', `/api/v1/guardrails/{id}/assignments/${side}`, guarded);
      await request('GET', `/api/v1/guardrails/assignments/${side}`, { isManaged });
    }
    await request('GET', '/api/v1/guardrails/{id}/budgets', guarded);
    for (const [side, body] of Object.entries(sides))
      await request('POST', `/api/v1/guardrails/{id}/assignments/${side}/remove`, { ...guarded, body });
    await request('GET', '/api/v1/guardrails/{id}', guarded);
    await request('PATCH', '/api/v1/guardrails/{id}', { ...guarded, body: { allowed_models: ['a/b'] } });
    const filters = [{ slug: 'email', action: 'redact' }];
    const body = { text: 'Mail ada@example.com', content_filter_builtins: filters };
    await request('POST', '/api/v1/guardrails/test', { isManaged, body });
    const listed = (await request('GET', '/api/v1/generations', { isManaged })) as unknown as {
      data: { id: string }[];
    };
    const feedback = { generation_id: listed.data[0]!.id, category: 'good' };
    await request('POST', '/api/v1/generation/feedback', { isManaged, body: feedback });
    const lists = ['generation/feedback', 'keys', 'workspaces', 'members', 'guardrails', 'credits', 'audit', 'key'];
    for (const list of lists) await request('GET', `/api/v1/${list}`, { isManaged });
    await request('GET', '/api/v1/activity', { isManaged, query: '?include_today=true' });
    await request('GET', '/api/v1/analytics', { isManaged, query: '?group_by=model,tag:team&percentiles=true' });
    await request('POST', '/api/v1/workspaces/{id}/members/remove', adas);
    await request('DELETE', '/api/v1/guardrails/{id}', guarded);
    await request('DELETE', '/api/v1/workspaces/{id}/budgets/{interval}', of);
    await request('DELETE', '/api/v1/keys/{hash}', of);
    const { data: empty } = await create('/api/v1/workspaces', { name: 'Empty', slug: 'empty' });
    await request('DELETE', '/api/v1/workspaces/{id}', { isManaged, path: { id: empty.id } });
  });

  it('responds as the document says, without a key', async () => {
    await request('GET', '/health');
    await request('GET', '/ready');
    await request('GET', '/metrics');
    await request('GET', '/');
  });

  it('responds as the document says, to sessions of the console', async () => {
    const [sessions, session] = ['/api/v1/console/sessions', '/api/v1/console/session'];
    await request('POST', sessions, { body: {}, status: 400 });
    await request('POST', sessions, { body: { key: gateway.key }, status: 201 });
    const response = await gateway.send('POST', '/console/sessions', { key: gateway.key }, { key: null });
    const { data } = (await response.json()) as { data: { id: string; csrf_token: string } };
    const cookie = response.headers.get('set-cookie')!.split(';', 1)[0]!;
    const headers = { cookie, 'x-headgate-csrf': data.csrf_token };
    await request('GET', session, { headers });
    await request('GET', session, { status: 404 });
    await request('GET', sessions, { headers });
    const path = { id: data.id };
    await request('DELETE', `${sessions}/{id}`, { headers: { cookie }, path, status: 403 });
    await request('DELETE', session, { headers, status: 204 });
    await request('DELETE', `${sessions}/{id}`, { isManaged: true, path, status: 404 });
    await request('GET', session, { headers, status: 401 });
    const { data: left } = (await request('GET', sessions)) as unknown as { data: { id: string }[] };
    await request('DELETE', `${sessions}/{id}`, { path: { id: left[0]!.id } });
  });

  it('was asked for everything except contents of files and of generations, the feed and the export', () => {
    const others = described.filter(({ operation }) => !covered.has(operation.operationId));
    expect(others.map(({ operation }) => operation.operationId).sort()).toEqual([
      'deleteFile',
      'downloadContainerFile',
      'downloadFile',
      'exportGenerations',
      'findContainerFile',
      'findContent',
      'findFile',
      'liveGenerations',
      'promoteContainerFile',
      'showOpenApi',
      'uploadFile',
    ]);
  });
});
