import { expect, it } from 'vitest';
import type { PluginSetting } from '../../domain/request.ts';
import type { SavedPlugin } from '../../domain/request-defaults.ts';
import { addSavedPlugins } from './saved-plugins.ts';

const saved: SavedPlugin = { id: 'auto-router', cost_tier: 'low', allowed_models: ['a/*'] };
const final: SavedPlugin = { ...saved, prevent_overrides: true };
const { id: _, ...fields } = saved;

it.each<[what: string, SavedPlugin[], named: PluginSetting[], plugins: PluginSetting[], applied: string[]]>([
  ['applies to a request without it', [saved], [{ id: 'web' }], [{ id: 'web' }, saved], ['auto-router']],
  [
    'leaves the fields that the request sets',
    [saved],
    [{ id: 'auto-router', cost_tier: 'max' }, { id: 'web' }],
    [{ id: 'auto-router', enabled: true, ...fields, cost_tier: 'max' }, { id: 'web' }],
    ['auto-router'],
  ],
  [
    'is off if the request says so',
    [saved],
    [{ id: 'auto-router', enabled: false }],
    [{ id: 'auto-router', enabled: false, ...fields }],
    ['auto-router'],
  ],
  [
    'that is off applies to a request without it',
    [{ id: 'web', enabled: false }],
    [],
    [{ id: 'web', enabled: false }],
    ['web'],
  ],
  [
    'that is off is on if the request names it',
    [{ id: 'web', enabled: false, max_results: 3 }],
    [{ id: 'web' }],
    [{ id: 'web', enabled: true, max_results: 3 }],
    ['web'],
  ],
  [
    'that adds nothing is not applied',
    [{ id: 'web', enabled: true }],
    [{ id: 'web' }],
    [{ id: 'web', enabled: true }],
    [],
  ],
  [
    'that is final replaces the fields of the request',
    [final],
    [{ id: 'auto-router', cost_tier: 'max', cost_quality_tradeoff: 3 }],
    [saved],
    ['auto-router'],
  ],
  ['that is final stays on', [final], [{ id: 'auto-router', enabled: false }], [saved], ['auto-router']],
  [
    'that is final and off stays off',
    [{ id: 'web', enabled: false, prevent_overrides: true }],
    [{ id: 'web', enabled: true }],
    [{ id: 'web', enabled: false }],
    ['web'],
  ],
])('a saved plugin %s', (_what, defaults, named, plugins, applied) => {
  expect(addSavedPlugins(named, defaults)).toEqual({ plugins, applied });
});

it('a saved plugin is merged with the last entry of the request, and the others have no effect', () => {
  const twice = [
    { id: 'web', max_results: 1 },
    { id: 'web', max_results: 2 },
  ];
  const { plugins } = addSavedPlugins(twice, [{ id: 'web', engine: 'exa' }]);
  expect(plugins.findLast(({ id }) => id === 'web')).toEqual({
    id: 'web',
    enabled: true,
    engine: 'exa',
    max_results: 2,
  });
});

it('the saved plugins themselves are not changed', () => {
  const before = structuredClone(final);
  addSavedPlugins([{ id: 'auto-router', cost_tier: 'max' }], [final]);
  expect(final).toEqual(before);
});
