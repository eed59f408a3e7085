import { datetime } from './datetime/index.ts';
import type { ServerTool } from './server-tool.ts';

/** Every server tool of this build. */
export const builtInTools: readonly ServerTool[] = [datetime];
