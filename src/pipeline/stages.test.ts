import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createCatalog } from '../catalog/catalog.ts';
import { createRoutingContext } from '../routing/routing-context.ts';
import { assembleStages } from './assemble-stages.ts';
import { stageOrder } from './stages.ts';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');

it('draws the stages in ARCHITECTURE.md in the order in which they are run', () => {
  const drawn = read('../../ARCHITECTURE.md').matchAll(/^ (\w+) {2,}\S/gm);
  expect([...drawn].map(([, name]) => name)).toEqual([...stageOrder]);
});

it('runs the stages of create-response.ts in that order', () => {
  const source = read('create-response.ts');
  const called = [...source.matchAll(/stages\.(\w+)\(/g)].map(([, name]) => name);
  // `buildEvents` wraps `revise`, so it stands first in its line; `startRun` is called by the handler.
  expect(new Set(called)).toEqual(new Set(stageOrder.filter((name) => name !== 'startRun')));
});

it('has a function for each stage', () => {
  const stages = assembleStages({
    routingContext: () => createRoutingContext(createCatalog([])),
    maxAttempts: () => 1,
    classifier: () => undefined,
    inspectors: [],
    preparers: [],
    book: () => {},
    hashEndUser: () => '',
    region: () => 'local',
    upstreamBodyLimit: () => 1,
  });
  expect(Object.keys(stages).sort()).toEqual([...stageOrder].sort());
});
