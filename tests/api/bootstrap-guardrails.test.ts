import { afterEach, describe, expect, it } from 'vitest';
import { defaultGuardrailId } from '../../src/domain/guardrail.ts';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { auditOf, type Json, main, manage } from './manage.ts';

let gateway: TestGateway;
const ask = manage(() => gateway);
afterEach(() => gateway?.close());

const start = async (...guardrails: object[]): Promise<void> => {
  gateway = await testGateway({ bootstrap: { guardrails } });
};
const reload = async (...guardrails: object[]) => gateway.reload({ bootstrap: { guardrails } });
const list = async (): Promise<Json[]> => (await ask('GET', `/guardrails?workspace_id=${main}`)).body.data;
const respond = async (input: string, key = gateway.key): Promise<number> =>
  (await gateway.post('/responses', { model: 'simulator/echo', input }, { key })).status;

const block = (slug: string) => ({ content_filter_builtins: [{ slug, action: 'block' }] });
const pii = (more: object = {}) => ({ name: 'pii', workspace: 'main', rules: block('email'), ...more });

describe('bootstrap.guardrails', () => {
  it('creates a guardrail for keys and members, once', async () => {
    await start(pii({ keys: ['org'] }), { name: 'ssn', workspace: main, members: ['ada'], rules: block('ssn') });
    expect(await list()).toMatchObject([
      { name: 'pii', content_filter_builtins: [{ slug: 'email', action: 'block', apply_to: ['input'] }] },
      { name: 'ssn', content_filter_builtins: [{ slug: 'ssn' }] },
    ]);
    const { organizationKey } = gateway;
    expect([await respond('a@b.co', organizationKey), await respond('a@b.co')]).toEqual([403, 200]);
    expect([await respond('123-45-6789', organizationKey), await respond('123-45-6789')]).toEqual([200, 403]);

    const [before, entries] = [await list(), await auditOf(ask, 10)];
    await reload(pii({ keys: ['org'] }), { name: 'ssn', workspace: main, members: ['ada'], rules: block('ssn') });
    expect(await list()).toEqual(before);
    expect(await auditOf(ask, 10)).toEqual(entries);
  });

  it('sets the default guardrail of a workspace', async () => {
    await start(pii({ default: true }));
    expect(await list()).toMatchObject([{ id: defaultGuardrailId(main), name: 'pii' }]);
    expect([await respond('a@b.co', gateway.organizationKey), await respond('a@b.co')]).toEqual([403, 403]);
  });

  it('follows the file: rules and assignments that are not in it are removed', async () => {
    await start(pii({ keys: ['app', 'org'], rules: { ...block('email'), ignored_models: ['simulator/writer'] } }));
    await reload(pii({ keys: ['org'], rules: block('ssn') }));
    const [changed] = await list();
    expect(changed).toMatchObject({ ignored_models: null, content_filter_builtins: [{ slug: 'ssn' }] });
    expect([await respond('a@b.co'), await respond('123-45-6789')]).toEqual([200, 200]);
    expect(await respond('123-45-6789', gateway.organizationKey)).toBe(403);
    expect(await auditOf(ask, 2)).toMatchObject([{ action: 'guardrail.unassign' }, { action: 'guardrail.update' }]);
  });

  it('leaves assignments alone that it does not name, and guardrails that are no longer in the file', async () => {
    await start(pii());
    const [made] = await list();
    const members = { member_user_ids: ['ada'] };
    await ask('POST', `/guardrails/${made.id}/assignments/members`, members);
    await reload(pii({ rules: block('ssn') }));
    expect(await respond('123-45-6789')).toBe(403);
    await reload();
    expect(await respond('123-45-6789')).toBe(403);
  });

  it.each([
    [
      { rules: { content_filters: [{ pattern: '(a+)+', action: 'flag' }] } },
      /guardrails\[0\].rules: .*nested quantifier/,
    ],
    [{ rules: { ...block('person-name') } }, /rules: .*set guardrails.analyzer_url/],
    [{ rules: { allowed_model: ['x'] } }, /rules: .*did you mean `allowed_models`/],
    [{ rules: { limit_usd: 5 } }, /rules: .*`reset_interval` is missing/],
    [{ keys: ['nobody'] }, /is no key of main in bootstrap.keys/],
    [{ members: ['nobody'] }, /is not in bootstrap.members/],
    [{ workspace: 'nowhere' }, /is not in bootstrap.workspaces/],
    [{ default: true, keys: ['app'] }, /keys and members must be absent/],
  ])('rejects %j, and keeps what applied before', async (fields, says) => {
    await start(pii({ members: ['ada'] }));
    const thrown = await reload(pii(fields)).catch((error: unknown) => error);
    const { message, problems = [] } = thrown as Error & { problems?: string[] };
    expect(`${message} ${problems.join(' ')}`).toMatch(says);
    expect(await respond('a@b.co')).toBe(403);
  });

  it('rejects two of the same name in a workspace', async () => {
    await start();
    const thrown = (await reload(pii(), pii({ workspace: main })).catch((error: unknown) => error)) as Json;
    expect(thrown.problems.join(' ')).toContain('is in its workspace twice');
  });
});
