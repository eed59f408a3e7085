import { createModerationPort } from '../../compose/create-moderation.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { Cancellation } from '../../domain/cancellation.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import { ModerationFailure } from '../../domain/moderation.ts';
import { createCallService } from '../../platform/outbound/call-service.ts';
import { readRoutingContext } from '../read-routing-context.ts';
import type { Finding } from './finding.ts';

const subject = 'moderation';

/**
 * Checks that inputs of endpoints that demand moderation can be moderated. With `probe`, the service judges a word.
 * Returns nothing if moderation is neither demanded nor configured.
 */
export async function checkModeration(loaded: LoadedConfig, { probe }: { probe: boolean }): Promise<Finding[]> {
  const { url, model, required } = loaded.config.plugins.moderation;
  if (url === undefined && model === undefined) {
    const demanding = findDemanding(loaded);
    if (demanding === undefined && !required) return [];
    const says =
      demanding === undefined
        ? 'is required, but there is no engine: requests with the plugin are rejected'
        : `${demanding} demands moderated inputs, but there is no engine: they are sent unchecked`;
    return [
      { status: 'warn', subject, says, fix: 'Set plugins.moderation.url, or a model in plugins.moderation.model.' },
    ];
  }
  if (url === undefined) return [{ status: 'ok', subject, says: `by the model ${model}` }];
  if (!probe) return [{ status: 'ok', subject, says: `by ${url}` }];
  const { engine } = createModerationPort({
    config: () => loaded.config,
    call: createCallService(),
    pipeline: () => {
      throw new Error('A service needs no model.');
    },
    log: () => {},
    rejectedKeys: { noteService: () => false },
  })();
  const run = { generationId: '', stages: [], cancellation: new Cancellation() };
  try {
    await engine!.judge({ texts: ['weather'], images: [] }, run); // it has a URL
    return [{ status: 'ok', subject, says: `by ${url}, which responds` }];
  } catch (error) {
    if (!(error instanceof ModerationFailure)) throw error;
    const fix = 'Check url, api_key and model of plugins.moderation.';
    return [{ status: 'fail', subject, says: error.message, fix }];
  }
}

/** @returns the first model of an endpoint that demands moderation */
function findDemanding(loaded: LoadedConfig): string | undefined {
  let endpoints: readonly EndpointFacts[];
  try {
    endpoints = readRoutingContext(loaded, () => {}).catalog.endpoints;
  } catch {
    return undefined; // reported by the check of models
  }
  return endpoints.find(({ isModerated }) => isModerated)?.model;
}
