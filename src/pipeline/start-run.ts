import { performance } from 'node:perf_hooks'; // the global is a getter
import { createId } from '../domain/ids.ts';
import type { ImageRequest } from '../domain/images.ts';
import type { ByteShare } from './byte-budget.ts';
import type { ImageRun, Run, RunInput, RunOrigin } from './run.ts';

type HashEndUser = (workspaceId: string, id: string) => string;

/**
 * Makes the run of an accepted request.
 *
 * @param hashEndUser folds an end user's id into a keyed hash, so that no provider and no row ever sees the id itself
 */
export function startRun(input: RunInput, hashEndUser: HashEndUser): Run {
  const { request, caller } = input;
  const endUser = request.safety_identifier ?? request.user;
  return {
    request,
    source: input.source,
    caller,
    origin: input.origin,
    generationId: input.generationId,
    cancellation: input.cancellation,
    metadata: input.metadata,
    ignoredFields: input.ignoredFields,
    clamped: input.clamped,
    modelDefault: input.modelDefault,
    modelLimits: input.modelLimits,
    responseId: createId('resp_'),
    startedAtMs: Date.now(),
    startedAt: performance.now(),
    endUser: endUser ? hashEndUser(caller.workspaceId, endUser) : undefined,
    stages: [],
    attempts: [],
    plan: undefined,
    unknownProviders: undefined,
    key: undefined,
    reservation: undefined,
    hasLateTools: false,
    selected: undefined,
    builder: undefined,
    media: undefined,
    upstreamModel: undefined,
    droppedFields: [],
    droppedUpstreamFields: [],
    dispatchedAt: undefined,
    firstOutputAt: undefined,
    upstreamEndedAt: undefined,
    finish: undefined,
    sent: { characters: 0, images: 0 },
    counted: undefined,
    usage: undefined,
    cost: undefined,
    error: undefined,
    begun: undefined,
    closed: false,
  };
}

/** The same for an image generation. */
export function startImageRun(
  request: ImageRequest,
  origin: RunOrigin,
  memory: ByteShare,
  hashEndUser: HashEndUser,
): ImageRun {
  const { workspaceId } = origin.caller;
  return {
    ...origin,
    request,
    startedAtMs: Date.now(),
    startedAt: performance.now(),
    endUser: request.user ? hashEndUser(workspaceId, request.user) : undefined,
    stages: [],
    attempts: [],
    plan: undefined,
    key: undefined,
    reservation: undefined,
    selected: undefined,
    upstreamModel: undefined,
    droppedFields: [],
    droppedUpstreamFields: [],
    dispatchedAt: undefined,
    firstOutputAt: undefined,
    upstreamEndedAt: undefined,
    usage: undefined,
    cost: undefined,
    error: undefined,
    begun: undefined,
    closed: false,
    references: [],
    memory,
    finish: undefined,
    fitted: [],
    made: [],
    isComplete: false,
  };
}
