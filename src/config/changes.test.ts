import { expect, it } from 'vitest';
import { findChanges } from './changes.ts';
import { loadConfig } from './load.ts';

const withEnv = (env: Record<string, string>) => loadConfig({ env, cwd: import.meta.dirname }).config;
const defaults = withEnv({});
const withClassifier = withEnv({ HEADGATE_ROUTERS_AUTO_CLASSIFIER_MODEL: 'acme/small' });

it('leaves optional sections out that neither configuration has', () => {
  const { config } = findChanges(defaults, withEnv({ HEADGATE_LOG_LEVEL: 'warn' }));
  expect(config).toEqual({ ...defaults, log: { ...defaults.log, level: 'warn' } });
});

it('adds and removes an optional section', () => {
  const added = findChanges(defaults, withClassifier);
  expect(added.config).toEqual(withClassifier);
  expect(added.live).toEqual(['routers.auto.classifier']);
  expect(findChanges(withClassifier, defaults).config).toEqual(defaults);
});
