import { describe, expect, it } from 'vitest';
import { createCatalog } from '../catalog/catalog.ts';
import { describeModel } from '../catalog/describe-model.ts';
import type { Caller } from '../domain/caller.ts';
import type { Pricing } from '../domain/endpoint.ts';
import { bareEndpoint, type Endpoint, type Provider } from '../providers/provider.ts';
import { describeRow, findCheapest, listParameters, listRows, canUse } from './model-rows.ts';

const provider = (id: string) => ({ id, name: id, wire: {} }) as Provider; // only the fields that are read
const endpoint = (model: string, more: Partial<Endpoint> = {}, at = 'p'): Endpoint => ({
  ...bareEndpoint(provider(at), model, model),
  ...more,
});
const priced = (prompt: number, completion = prompt): Pricing => ({
  promptNanoUsdPerMillion: prompt,
  completionNanoUsdPerMillion: completion,
});
const member = { kind: 'member', workspaceId: 'here' } as Caller; // only the fields that are read
const model = (id: string, created = '2026-01-01', more: object = {}) => describeModel({ id, created, ...more });

describe('the cheapest endpoint', () => {
  it.each<[string, Partial<Endpoint>[], number]>([
    ['is the one with the least price', [{ pricing: priced(2) }, { pricing: priced(1) }], 1],
    ['weighs input three times', [{ pricing: priced(2, 2) }, { pricing: priced(1, 6) }], 0],
    ['has a price, when one of them has', [{}, { pricing: priced(9) }], 1],
    ['is the first, when none has', [{}, {}], 0],
    ['is the first of those that cost the same', [{ pricing: priced(1) }, { pricing: priced(1) }], 0],
    ['is of the usual tier', [{ tier: 'flex', pricing: priced(1) }, { pricing: priced(2) }], 1],
    ['may be of the default tier', [{ tier: 'default', pricing: priced(1) }, { pricing: priced(2) }], 0],
    ['is of another tier, when there is no usual one', [{ tier: 'priority' }, { tier: 'flex', pricing: priced(1) }], 1],
  ])('%s', (_name, facts, expected) => {
    const endpoints = facts.map((each) => endpoint('a/b', each));
    expect(findCheapest(endpoints)).toBe(endpoints[expected]);
  });

  it('is undefined without endpoints', () => {
    expect(findCheapest([])).toBeUndefined();
  });
});

describe('the parameters of an endpoint', () => {
  it.each<[Partial<Endpoint>, string[] | undefined]>([
    [{}, undefined],
    [{ parameters: new Set() }, []],
    [{ parameters: new Set(['seed']) }, ['seed']],
    [{ parameters: new Set(['seed', 'tools', 'tool_choice']), capabilities: { tools: false } }, ['seed']],
    [{ capabilities: { tools: true } }, ['tools', 'tool_choice']],
    [{ capabilities: { structuredOutputs: true } }, ['structured_outputs', 'response_format']],
    [{ capabilities: { reasoning: true } }, ['reasoning', 'include_reasoning']],
    [{ capabilities: { tools: false } }, []],
    [{ capabilities: { input: ['text'] } }, undefined],
  ])('of %j are %j', (facts, expected) => {
    expect(listParameters(endpoint('a/b', facts))).toEqual(expected);
  });
});

describe('a row', () => {
  it('has the union over its endpoints, or else the parameters of the model', () => {
    const said = model('a/b', '2026-01-01', { context_length: 100, parameters: ['seed'], input: ['text', 'file'] });
    const row = describeRow(said, [
      endpoint('a/b', { parameters: new Set(['stop']), contextLength: 50, capabilities: { input: ['text', 'image'] } }),
      endpoint('a/b'),
    ]);
    expect(row).toMatchObject({ parameters: ['stop', 'seed'], input: ['text', 'image', 'file'], contextLength: 100 });
    expect(describeRow(said, [endpoint('a/b', { contextLength: 50 })]).contextLength).toBe(50);
  });
});

describe('the rows', () => {
  const models = ['a/one', 'a/two', 'a/hidden', 'router/free', 'b/other'].map((id, index) =>
    model(id, `2026-01-0${index + 1}`, { hidden: id === 'a/hidden' }),
  );
  const endpoints = [
    endpoint('a/one'),
    endpoint('a/two', { workspace: 'there' }, 'own'),
    endpoint('a/hidden'),
    endpoint('router/free'),
    endpoint('*', {}, 'all'),
    endpoint('b/other', { workspace: 'here' }, 'own'),
  ];
  const catalog = createCatalog(endpoints, new Map(models.map((each) => [each.id, each])));
  const ids = (caller: Caller, latest: { alias: string; pattern: string }[] = []) =>
    listRows(catalog, latest, (endpoint) => canUse(endpoint, caller)).flatMap(({ model: { id }, isRouter }) =>
      isRouter ? [] : [id],
    );

  it('exclude a model that only matches a wildcard', () => {
    expect(ids(member)).toEqual(['a/one', 'a/hidden', 'b/other']);
    expect(ids({ ...member, workspaceId: 'there' })).toEqual(['a/one', 'a/two', 'a/hidden']);
  });

  it('contain the shared endpoints for a management key', () => {
    expect(ids({ ...member, kind: 'management' })).toEqual(['a/one', 'a/hidden']);
  });

  it('point an alias to the newest visible model that the caller may use', () => {
    const latest = [{ alias: '~a/latest', pattern: 'a/*' }];
    const target = (caller: Caller) =>
      listRows(catalog, latest, (endpoint) => canUse(endpoint, caller)).at(-1)?.aliasTarget?.slug;
    expect(target(member)).toBe('a/one');
    expect(target({ ...member, workspaceId: 'there' })).toBe('a/two');
    expect(ids(member, [{ alias: '~b/latest', pattern: 'c/*' }])).not.toContain('~b/latest');
  });

  it('contain each router once, even if a model has its name', () => {
    const found = listRows(catalog, [], (endpoint) => canUse(endpoint, member)).filter(
      ({ model: { id } }) => id === 'router/free',
    );
    expect(found.map(({ isRouter }) => isRouter)).toEqual([true]);
  });

  it('include the wildcard in the endpoints of a model', () => {
    const [one] = listRows(catalog, [], (endpoint) => canUse(endpoint, member));
    expect(one?.endpoints.map(({ provider: { id } }) => id)).toEqual(['p', 'all']);
  });
});
