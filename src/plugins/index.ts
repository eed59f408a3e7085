import type { Plugin } from './plugin.ts';
import { responseHealing } from './response-healing/index.ts';

/** Every plugin of this build, in the order in which they act. */
export const plugins: readonly Plugin[] = [responseHealing];
