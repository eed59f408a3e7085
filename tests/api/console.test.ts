import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import type { Json } from './manage.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

interface SignedIn {
  cookie: string;
  csrf: string;
  session: Json;
}

/** Sends a request without a key, as a browser does. */
const send = (method: string, path: string, headers: Record<string, string> = {}, body?: object): Promise<Response> =>
  gateway.send(method, path, body, { key: null, headers });

async function signIn(
  body: object = { key: gateway.managementKey },
  headers?: Record<string, string>,
): Promise<SignedIn> {
  const response = await send('POST', '/console/sessions', headers, body);
  expect(response.status).toBe(201);
  const { data } = (await response.json()) as Json;
  return { cookie: response.headers.get('set-cookie')!.split(';', 1)[0]!, csrf: data.csrf_token, session: data };
}

async function createLink(...options: string[]): Promise<{ token: string; printed: string }> {
  const printed: string[] = [];
  const errors: string[] = [];
  const terminal = {
    stdout: { write: (text: string) => printed.push(text) > 0 },
    stderr: { write: (text: string) => errors.push(text) > 0 },
    env: {},
    cwd: gateway.dataDir,
  };
  const code = await runCli(['console', '--config', 'test.json', '--data', gateway.dataDir, ...options], terminal);
  expect(errors.join('')).toMatch(code === 0 ? /^The link works once, within an hour/ : /^headgate: /);
  return { token: /#token=(.*)\n/.exec(printed.join(''))?.[1] ?? '', printed: printed.join('') + errors.join('') };
}

describe('a session of the console', () => {
  it('has the rights of its key, and its cookie is kept from scripts and other sites', async () => {
    const response = await send('POST', '/console/sessions', {}, { key: gateway.managementKey });
    expect(response.headers.get('set-cookie')).toMatch(
      /^headgate_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=2592000$/,
    );
    expect(response.headers.get('cache-control')).toBe('no-store');
    const { data } = (await response.json()) as Json;
    expect(data).toMatchObject({ kind: 'management', key_name: expect.any(String), workspace_id: null });

    const { cookie, session } = await signIn();
    const keys = await send('GET', '/keys', { cookie });
    expect(keys.status).toBe(200);
    expect(keys.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    expect(await (await send('GET', '/console/session', { cookie })).json()).toEqual({ data: session });
    const refused = await send('POST', '/responses', { cookie }, { model: 'simulator/echo', input: 'Hello' });
    expect(refused.status).toBe(403);
  });

  it('of an inference key sees its workspace, and no other session', async () => {
    const { cookie, csrf, session } = await signIn({ key: gateway.key });
    expect(session).toMatchObject({ kind: 'inference', workspace_id: '00000000-0000-4000-8000-0000000000a1' });
    expect((await send('GET', '/keys', { cookie })).status).toBe(403);
    expect((await send('GET', '/generations', { cookie })).status).toBe(200);
    const hello = { model: 'simulator/echo', input: 'Hello' };
    expect((await send('POST', '/responses', { cookie, 'x-headgate-csrf': csrf }, hello)).status).toBe(200);

    const other = await signIn();
    const { data } = (await (await send('GET', '/console/sessions', { cookie })).json()) as Json;
    expect(data.map((each: Json) => each.key_hash)).not.toContain(other.session.key_hash);
    const foreign = `/console/sessions/${other.session.id}`;
    expect((await send('DELETE', foreign, { cookie, 'x-headgate-csrf': csrf })).status).toBe(404);
    expect((await send('GET', '/console/session', { cookie: other.cookie })).status).toBe(200);
  });

  it('needs its CSRF token for each change', async () => {
    const { cookie, csrf } = await signIn();
    const { csrf: another } = await signIn();
    for (const token of [undefined, '', 'x', another, `${csrf}x`]) {
      const headers = { cookie, ...(token !== undefined && { 'x-headgate-csrf': token }) };
      const response = await send('POST', '/keys', headers, { name: 'stolen' });
      expect(response.status).toBe(403);
      expect(await response.text()).toContain('X-Headgate-CSRF');
    }
    expect((await send('POST', '/keys', { cookie, 'x-headgate-csrf': csrf }, { name: 'made' })).status).toBe(201);
  });

  it('is of no use to pages of other origins, also below the same site', async () => {
    const { cookie, csrf } = await signIn();
    for (const site of ['cross-site', 'same-site', 'weird']) {
      const headers = { cookie, 'x-headgate-csrf': csrf, 'sec-fetch-site': site };
      expect((await send('GET', '/keys', headers)).status).toBe(403);
    }
    for (const site of ['same-origin', 'none']) {
      expect((await send('GET', '/keys', { cookie, 'sec-fetch-site': site })).status).toBe(200);
    }
  });

  it('ends when the person signs out, or when it is ended from the list', async () => {
    const [first, second] = [await signIn(), await signIn()];
    const listed = (await (await send('GET', '/console/sessions', { cookie: second.cookie })).json()) as Json;
    expect(listed.data.filter((each: Json) => each.is_current)).toMatchObject([{ id: second.session.id }]);
    const out = await send('DELETE', '/console/session', { cookie: first.cookie, 'x-headgate-csrf': first.csrf });
    expect(out.status).toBe(204);
    expect(out.headers.get('set-cookie')).toMatch(/^headgate_session=; .*Max-Age=0$/);
    expect((await send('GET', '/console/session', { cookie: first.cookie })).status).toBe(401);
    const third = await signIn();
    const ended = await send('DELETE', `/console/sessions/${second.session.id}`, {
      cookie: third.cookie,
      'x-headgate-csrf': third.csrf,
    });
    expect(await ended.json()).toEqual({ deleted: true });
    const gone = await send('GET', '/keys', { cookie: second.cookie });
    expect([gone.status, await gone.text()]).toEqual([401, expect.stringContaining('Sign in again')]);
  });

  it('takes its live feed with it', async () => {
    const { cookie, csrf } = await signIn();
    const feed = await send('GET', '/generations/live', { cookie });
    expect([feed.status, feed.headers.get('content-security-policy')]).toEqual([200, "default-src 'none'; sandbox"]);
    await send('DELETE', '/console/session', { cookie, 'x-headgate-csrf': csrf });
    await feed.text(); // ends only with the feed
  });

  it('ends with its key', async () => {
    const made = await gateway.send('POST', '/keys', { name: 'short' }, { key: gateway.managementKey });
    const { data, key } = (await made.json()) as Json;
    const { cookie } = await signIn({ key });
    await gateway.send('PATCH', `/keys/${data.hash}`, { disabled: true }, { key: gateway.managementKey });
    expect((await send('GET', '/generations', { cookie })).status).toBe(401);
  });

  it('is not used where a key is sent, and not for WebSockets', async () => {
    const { cookie } = await signIn();
    const response = await gateway.send('GET', '/console/session', undefined, { headers: { cookie } });
    expect(response.status).toBe(404);
    const wrong = await gateway.send('GET', '/keys', undefined, { key: 'sk-wrong', headers: { cookie } });
    expect(wrong.status).toBe(401);
  });

  it('has a cookie that subdomains cannot set, over TLS', async () => {
    const tls = { 'x-forwarded-proto': 'https' };
    const response = await send('POST', '/console/sessions', tls, { key: gateway.key });
    const cookie = response.headers.get('set-cookie')!;
    expect(cookie).toMatch(/^__Host-headgate_session=.*; Secure; /);
    const [, token] = /=([^;]*)/.exec(cookie)!;
    expect((await send('GET', '/console/session', { ...tls, cookie: `__Host-headgate_session=${token}` })).status).toBe(
      200,
    );
    expect((await send('GET', '/console/session', { ...tls, cookie: `headgate_session=${token}` })).status).toBe(401);
  });
});

describe('signing in', () => {
  it.each([
    [{}, 400],
    [{ key: 'a', token: 'b' }, 400],
    [{ key: '' }, 400],
    [{ key: 'x'.repeat(1001) }, 400],
    [{ key: 5 }, 400],
    [{ password: 'a' }, 400],
    [{ key: 'sk-rt-v1-wrong' }, 401],
    [{ token: 'wrong' }, 401],
    [{ token: 'A'.repeat(43) }, 401],
  ])('with %j is a %i', async (body, status) => {
    const response = await send('POST', '/console/sessions', {}, body);
    expect(response.status).toBe(status);
    expect(response.headers.get('set-cookie')).toBeNull();
  });

  it('is refused to pages of other origins, which could sign a person in with their own key', async () => {
    const body = { key: gateway.key };
    for (const site of ['cross-site', 'same-site']) {
      const response = await send('POST', '/console/sessions', { 'sec-fetch-site': site }, body);
      expect([response.status, response.headers.get('set-cookie')]).toEqual([403, null]);
    }
    // Browsers send these types without asking the gateway.
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const response = await send('POST', '/console/sessions', { 'content-type': type }, body);
      expect([response.status, response.headers.get('set-cookie')]).toEqual([415, null]);
    }
    const bytes = { method: 'POST', body: new Blob([JSON.stringify(body)]) };
    expect((await fetch(`${gateway.baseUrl}/console/sessions`, bytes)).status).toBe(415);
    await signIn(body, { 'sec-fetch-site': 'same-origin' });
  });

  it('works once with a link', async () => {
    const { token } = await createLink();
    const { session } = await signIn({ token });
    expect(session).toMatchObject({ kind: 'management' });
    const again = await send('POST', '/console/sessions', {}, { token });
    expect([again.status, await again.text()]).toEqual([401, expect.stringContaining('works once')]);
  });

  it('has the rights of the key that the link names', async () => {
    const made = await gateway.send('POST', '/keys', { name: 'linked' }, { key: gateway.managementKey });
    const { data } = (await made.json()) as Json;
    const { token } = await createLink('--key', 'linked');
    expect((await signIn({ token })).session).toMatchObject({ kind: 'inference', key_hash: data.hash });

    const unused = await createLink('--key', 'linked');
    await gateway.send('PATCH', `/keys/${data.hash}`, { disabled: true }, { key: gateway.managementKey });
    expect((await send('POST', '/console/sessions', {}, { token: unused.token })).status).toBe(401);
    expect((await createLink('--key', 'linked')).printed).toContain('The key "linked" is disabled.');
  });

  it('works with a link for a key that another process has just created', async () => {
    const stream = { write: () => true };
    const terminal = { stdout: stream, stderr: stream, env: {}, cwd: gateway.dataDir };
    const source = ['--config', 'test.json', '--data', gateway.dataDir];
    expect(await runCli(['keys', 'create', '--management', '--name', 'just created', ...source], terminal)).toBe(0);
    const { token } = await createLink('--key', 'just created');
    expect((await signIn({ token })).session).toMatchObject({ key_name: 'just created' });
  });

  it('is limited after many failed attempts', async () => {
    const own = await testGateway();
    const attempt = (body: object) => own.send('POST', '/console/sessions', body, { key: null });
    for (let count = 0; count < 30; count++) expect((await attempt({ key: own.key })).status).toBe(201);
    const failed = await Promise.all(Array.from({ length: 50 }, (_, at) => attempt({ key: `sk-wrong-${at}` })));
    const counts = Map.groupBy(failed, ({ status }) => status);
    expect([counts.get(401)!.length, counts.get(429)!.length]).toEqual([20, 30]);
    const limited = await attempt({ key: own.key });
    expect([limited.status, Number(limited.headers.get('retry-after'))]).toEqual([429, expect.any(Number)]);
    await own.close();
  });
});

it('survives a restart', async () => {
  const first = await testGateway();
  const response = await first.send('POST', '/console/sessions', { key: first.key }, { key: null });
  const cookie = response.headers.get('set-cookie')!.split(';', 1)[0]!;
  await first.close({ keepData: true });
  const second = await testGateway({}, first.dataDir);
  expect((await second.send('GET', '/console/session', undefined, { key: null, headers: { cookie } })).status).toBe(
    200,
  );
  await second.close();
});

it('is absent where the operator has switched it off', async () => {
  const before = await testGateway();
  const response = await before.send('POST', '/console/sessions', { key: before.key }, { key: null });
  const cookie = response.headers.get('set-cookie')!.split(';', 1)[0]!;
  await before.reload({ server: { console: false } });
  const ask = (method: string, path: string, headers = {}) =>
    before.send(method, path, undefined, { key: null, headers });
  expect((await ask('POST', '/console/sessions')).status).toBe(404);
  expect((await ask('GET', '/generations', { cookie })).status).toBe(401);
  expect((await fetch(`${before.url}/console`)).status).toBe(404);
  await before.close();
});
