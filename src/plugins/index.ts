import type { Plugin } from './plugin.ts';
import { responseHealing } from './response-healing/index.ts';

/** Every plugin of this build, in the order in which they run. */
export const plugins: readonly Plugin[] = [responseHealing];
