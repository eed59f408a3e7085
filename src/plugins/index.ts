import { type PluginId, pluginOrder } from '../domain/plugin.ts';
import type { Plugin } from './plugin.ts';
import { type CompressionPorts, createContextCompression } from './context-compression/index.ts';
import type { FilePorts } from './file-parser/file-reading.ts';
import { createFileParser } from './file-parser/index.ts';
import { createFusion, type FusionPluginPorts } from './fusion/index.ts';
import { createModeration, type ModerationPorts } from './moderation/index.ts';
import { createResponseHealing, type HealingPorts } from './response-healing/index.ts';
import { createWeb, type WebPorts } from './web/index.ts';
import { webFetch } from './web-fetch/index.ts';

/**
 * Parts that plugins get when the gateway starts: a function for each outside operation, such as a search. Each
 * plugin adds the ones that it needs. They read settings when they are called, so that a reload takes effect.
 */
export type PluginPorts = CompressionPorts & FilePorts & FusionPluginPorts & HealingPorts & ModerationPorts & WebPorts;

/** The plugins of the operator's modules, in their order. */
export interface OperatorPlugins {
  modules: readonly Plugin[];
}

/** Creates each plugin of this build. */
const creators: Record<PluginId, (ports: PluginPorts) => Plugin> = {
  fusion: createFusion,
  'file-parser': createFileParser,
  moderation: createModeration,
  web: createWeb,
  'web-fetch': () => webFetch,
  'context-compression': createContextCompression,
  'response-healing': createResponseHealing,
};

/** Creates all plugins, in the order in which they act. */
export function createPlugins({ modules, ...ports }: PluginPorts & OperatorPlugins): readonly Plugin[] {
  const plugins: Plugin[] = pluginOrder.map((id) => creators[id](ports));
  plugins.splice(pluginOrder.indexOf('context-compression'), 0, ...modules); // compression fits their additions
  return plugins;
}
