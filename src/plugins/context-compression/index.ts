import type { EndpointFacts } from '../../domain/endpoint.ts';
import type { PluginPart } from '../../domain/plugin.ts';
import type { Plugin, PluginRun } from '../plugin.ts';
import { ContextFitting, type CountTokens } from './fit-context.ts';

export interface CompressionPorts {
  readonly countTokens: CountTokens;
}

/**
 * Shortens an input that is too long for the endpoint of an attempt. Where the context is small, it acts without being
 * named.
 *
 * @see docs/reference/plugins.md#context-compression
 */
export const createContextCompression = ({ countTokens }: CompressionPorts): Plugin => ({
  id: 'context-compression',
  prepare(run, setting): PluginPart<PluginRun> {
    const fitting = new ContextFitting(run, setting !== undefined, countTokens);
    return { adapt: (request, endpoint: EndpointFacts) => fitting.fit(request, endpoint) };
  },
});
