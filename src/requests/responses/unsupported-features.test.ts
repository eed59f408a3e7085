import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../domain/errors.ts';
import { readRequest } from './request.ts';
import { rejectUnsupportedFeatures, unsupportedFeatures } from './unsupported-features.ts';

/** The paths that are refused; empty when the request is offered. */
function paths(fields: object): string[] {
  const { request } = readRequest({ model: 'acme/mock', input: 'hi', ...fields }, {});
  try {
    rejectUnsupportedFeatures(request);
    return [];
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    expect(error).toMatchObject({ kind: 'not_offered', status: 400 });
    return (error.metadata.issues as { path: string }[]).map((issue) => issue.path);
  }
}

const user = { role: 'user', content: 'hi' };

describe('refuses', () => {
  it.each<[path: string, fields: object]>([
    ['plugins[0].id', { plugins: [{ id: 'switchyard-router' }] }],
    ['plugins[1].id', { plugins: [{ id: 'response-healing' }, { id: 'switchyard-router', enabled: true }] }],
    ['reasoning.mode', { reasoning: { mode: 'pro' } }],
  ])('%s in %j', (path, fields) => {
    expect(paths(fields)).toEqual([path]);
  });
});

describe('lets pass', () => {
  it.each<[string, object]>([
    ['a plain request', {}],
    ['preferences that are all null', { provider: { sort: null, order: null } }],
    ['the deprecated route that says the default', { route: 'fallback' }],
    ['response healing', { plugins: [{ id: 'response-healing' }] }],
    ['what sets up a router', { plugins: [{ id: 'auto-router' }, { id: 'pareto-router' }] }],
    ['preferences', { provider: { sort: 'price', zdr: true, order: ['acme'] }, route: 'sort' }],
    ['a router', { model: 'router/auto', models: ['Router/Free', 'router/pareto-code', '~acme/one-latest'] }],
    ['a plugin that is off', { plugins: [{ id: 'web', enabled: false }] }],
    ['hosted and client tools', { tools: [{ type: 'web_search' }, { type: 'custom', name: 'c' }] }],
    [
      'items of server tools in the history',
      { input: [user, { type: 'router:datetime', status: 'completed', datetime: 'x', timezone: 'UTC' }] },
    ],
    ['a tag after the colon', { model: 'llama3:8b' }],
    ['a tag that begins like a variant', { model: 'llama3:free-7b' }],
    ['a variant as a whole name', { model: 'acme/free' }],
    ['pictures', { modalities: ['text', 'image'], image_config: { aspect_ratio: '16:9' } }],
    ['truncation', { truncation: 'auto' }],
    ['truncation that is disabled', { truncation: 'disabled' }],
    ['the standard mode', { reasoning: { mode: 'standard', effort: 'high' } }],
  ])('%s', (_, fields) => {
    expect(paths(fields)).toEqual([]);
  });
});

it('names the field, the value and the build, and all of them in the metadata', () => {
  const { request } = readRequest(
    { model: 'acme/one', input: 'hi', plugins: [{ id: 'switchyard-router' }], reasoning: { mode: 'pro' } },
    {},
  );
  expect(() => rejectUnsupportedFeatures(request)).toThrow(
    '`plugins[0].id` with the value "switchyard-router" is not offered by this build. Leave the plugin out. (and 1 more: see error.metadata.issues)',
  );
});

it('keeps docs/reference/not-offered.md equal to the table', () => {
  const page = readFileSync(new URL('../../../docs/reference/not-offered.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  expect(rows).toEqual(unsupportedFeatures.map((row) => `| \`${row.field}\` | ${row.refused} | ${row.instead} |`));
});
