import { autoRouter } from './auto.ts';
import { bodybuilderRouter } from './bodybuilder.ts';
import { freeRouter } from './free.ts';
import { fusionRouter } from './fusion.ts';
import { latestRouter } from './latest.ts';
import { paretoRouter } from './pareto.ts';
import type { Router } from './router.ts';

export type { Router, RouterPlan } from './router.ts';

/** All routers. */
export const routers: readonly Router[] = [
  latestRouter,
  autoRouter,
  paretoRouter,
  freeRouter,
  bodybuilderRouter,
  fusionRouter,
];
