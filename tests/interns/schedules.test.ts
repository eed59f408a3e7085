import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ScriptedHost } from '../../src/testing/scripted-runtime.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';

const workspace_id = '00000000-0000-4000-8000-0000000000a1';

interface Schedule {
  id: string;
  kind: string;
  paused: boolean;
  next_due_at: string | null;
  last_run: { id: string; status: string; failure: string | null } | null;
  token?: string;
  path?: string;
}

describe('schedules of interns', () => {
  let gate: TestGateway;
  let base: string;
  const read = async (response: Response) => ({ status: response.status, body: (await response.json()) as Schedule });
  const create = async (body: object) => read(await gate.post(base, body));
  const call = (path: string, body?: string | Uint8Array<ArrayBuffer>) =>
    fetch(`${gate.url}${path}`, { method: 'POST', ...(body !== undefined && { body }) });
  const readError = async (response: Response) => {
    const { error } = (await response.json()) as { error: { code: unknown; message: string } };
    return [response.status, error.code, error.message];
  };

  beforeAll(async () => {
    const options = { internRuntime: new ScriptedHost().createRuntime() };
    gate = await testGateway({ interns: { schedules: { enabled: true, max_per_intern: 3 } } }, undefined, options);
    const created = await gate.post('/interns', { name: 'scout', workspace_id });
    base = `/interns/${((await created.json()) as { id: string }).id}/schedules`;
  });
  afterAll(() => gate?.close());

  it('by cron expression are created, listed, paused, changed and deleted', async () => {
    const { status, body } = await create({ kind: 'cron', cron: '0 9 * * 1-5', time_zone: 'Asia/Tokyo', input: 'Go.' });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      kind: 'cron',
      cron: '0 9 * * 1-5',
      time_zone: 'Asia/Tokyo',
      input: 'Go.',
      paused: false,
      next_due_at: expect.stringMatching(/T00:00:00.000Z$/),
      last_run: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const path = `${base}/${body.id}`;
    const patch = async (change: object) => read(await gate.send('PATCH', path, change));
    expect((await patch({ paused: true })).body).toMatchObject({ paused: true, next_due_at: null });
    expect((await patch({ cron: '0 10 * * *', paused: false })).body.next_due_at).toMatch(/T01:00:00.000Z$/);
    expect((await patch({ input: '' })).status).toBe(400);
    expect((await (await gate.get(base)).json()) as object).toMatchObject({ data: [{ id: body.id }] });
    expect((await read(await gate.get(path))).body).toMatchObject({ cron: '0 10 * * *' });
    expect((await gate.get(`${base}/00000000-0000-4000-8000-000000000000`)).status).toBe(404);
    expect(await (await gate.send('DELETE', path)).json()).toEqual({ deleted: true });
    expect((await gate.send('DELETE', path)).status).toBe(404);
    const audit = await gate.gateway.storage.management.listAudit({ offset: 0, limit: 9 });
    const actions = audit.rows.map(({ action }) => action).filter((action) => action.startsWith('intern_schedule.'));
    expect(actions).toEqual(['delete', 'update', 'update', 'create'].map((verb) => `intern_schedule.${verb}`));
  });

  it.each([
    [{ kind: 'cron', input: 'a' }, 'cron'],
    [{ kind: 'cron', cron: '* * * * *' }, 'input'],
    [{ kind: 'cron', cron: '* * * * * *', input: 'a' }, 'five fields'],
    [{ kind: 'cron', cron: '61 * * * *', input: 'a' }, 'cron expression'],
    [{ kind: 'cron', cron: '* * * * *', time_zone: 'Mars/One', input: 'a' }, 'time zone'],
    [{ kind: 'webhook', cron: '* * * * *' }, 'only for the kind'],
    [{ kind: 'webhook', input: 'a'.repeat(32_001) }, '32000'],
    [{ kind: 'other' }, 'kind'],
    [{ kind: 'webhook', token: 'a' }, 'token'],
  ])('reject %j', async (body, says) => {
    const [status, code, message] = await readError(await gate.post(base, body));
    expect([status, code]).toEqual([400, 'invalid_body']);
    expect(message).toContain(says);
  });

  it('by webhook run with the token alone, which is shown once and stored nowhere', async () => {
    const { body: hook } = await create({ kind: 'webhook', input: 'Triage this.' });
    const { token, path } = hook;
    expect(token).toMatch(/^hgw_[\w-]{43}$/);
    expect(path).toBe(`/api/v1${base.replace('schedules', 'webhooks')}/${token}`);
    const shown = await (await gate.get(base)).text();
    const audit = JSON.stringify(await gate.gateway.storage.management.listAudit({ offset: 0, limit: 99 }));
    for (const text of [shown, audit]) expect(text).not.toContain(token!.slice(4));

    const wrong = `${path!.slice(0, -1)}${path!.endsWith('A') ? 'B' : 'A'}`;
    expect((await readError(await call(wrong, 'a'))).slice(0, 2)).toEqual([404, 'not_found']);
    const elsewhere = path!.replace(/interns\/[^/]+/, 'interns/00000000-0000-4000-8000-000000000000');
    expect((await call(elsewhere, 'a')).status).toBe(404);
    expect((await call(path!, new Uint8Array([0xff, 0xfe]))).status).toBe(400);
    expect((await call(path!, 'a'.repeat(32_000))).status).toBe(413);
    expect((await call(path!, 'a'.repeat(70_000))).status).toBe(413);

    await gate.send('PATCH', `${base}/${hook.id}`, { paused: true });
    expect((await readError(await call(path!, 'a'))).slice(0, 2)).toEqual([409, 'schedule_paused']);
    await gate.send('PATCH', `${base}/${hook.id}`, { paused: false });
    const accepted = await call(path!, '{"issue":1}');
    expect(accepted.status).toBe(202);
    expect(accepted.headers.get('cache-control')).toBe('no-store');
    const { run_id } = (await accepted.json()) as { run_id: string };
    // The intern was never started.
    await expect
      .poll(async () => (await read(await gate.get(`${base}/${hook.id}`))).body.last_run)
      .toMatchObject({ id: run_id, status: 'skipped', failure: expect.stringContaining('Provision it.') });
    expect(await (await fetch(`${gate.url}/metrics`)).text()).toContain(
      'headgate_intern_scheduled_runs_total{outcome="skipped"} 1',
    );

    await gate.send('DELETE', `${base}/${hook.id}`);
    expect((await call(path!, 'a')).status).toBe(404);
  });

  it('take a limited number of calls per minute', async () => {
    const { body: hook } = await create({ kind: 'webhook' });
    expect((await call(hook.path!)).status).toBe(400); // no text
    const statuses: number[] = [];
    for (let left = 60; left > 0; left--) statuses.push((await call(hook.path!)).status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(1);
    const limited = await call(hook.path!);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    await gate.send('DELETE', `${base}/${hook.id}`);
  });

  it('have a limit for each intern, and are a 404 if the operator does not offer them', async () => {
    const all = await Promise.all([1, 2, 3, 4].map(() => gate.post(base, { kind: 'webhook' })));
    expect(all.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409]);
    const refused = all.find(({ status }) => status === 409)!;
    expect((await readError(refused))[1]).toBe('schedule_limit_reached');
    const { path } = (await all.find(({ status }) => status === 201)!.json()) as { path: string };
    await gate.reload({ interns: { schedules: { enabled: false } } });
    expect((await gate.get(base)).status).toBe(404);
    expect((await call(path, 'a')).status).toBe(404);
    await gate.reload({ interns: { schedules: { enabled: true } } });
    expect((await call(path, 'a')).status).toBe(202);
  });
});
