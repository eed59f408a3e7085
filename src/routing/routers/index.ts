import { auto } from './auto.ts';
import { bodybuilder } from './bodybuilder.ts';
import { free } from './free.ts';
import { latest } from './latest.ts';
import { pareto } from './pareto.ts';
import type { Router } from './router.ts';

export type { Router, RouterPlan } from './router.ts';

/** Every slug that stands for others. */
export const routers: readonly Router[] = [latest, auto, pareto, free, bodybuilder];
