import { GatewayError } from '../../domain/errors.ts';
import { createTimedId } from '../../domain/ids.ts';
import type { RunBase } from './run.ts';
import type { InnerLimits, RunOrigin } from './run-origin.ts';

/** Maximum depth of runs that serve other runs. */
export const MAX_DEPTH = 4;

export interface InnerOrigin extends RunOrigin {
  modelLimits: InnerLimits | undefined;
}

/**
 * Creates the origin of a run that serves another one, for the same caller and within the limits of its models.
 *
 * @param isInspected whether guardrails have inspected all of its input
 * @param estimateTokens estimates its input and output
 * @throws {GatewayError} `unprocessable` if the run would be nested too deeply
 */
export function createInnerOrigin(
  parent: RunBase,
  cancellation: RunOrigin['cancellation'],
  { isInspected, estimateTokens }: { isInspected: boolean; estimateTokens: () => number },
): InnerOrigin {
  const depth = (parent.parent?.depth ?? 0) + 1;
  if (depth > MAX_DEPTH) {
    throw new GatewayError('unprocessable', `Requests of the gateway itself are nested ${MAX_DEPTH} deep at most.`);
  }
  const generationId = createTimedId('gen-');
  return {
    caller: parent.caller,
    generationId,
    cancellation,
    metadata: false,
    ignoredFields: [],
    clamped: [],
    modelLimits: parent.modelLimits?.openInner(generationId, estimateTokens),
    parent: { generationId: parent.generationId, depth, isInspected },
    tags: parent.tags,
  };
}
