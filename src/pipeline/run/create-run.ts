import { performance } from 'node:perf_hooks'; // the global is a getter
import { currentTimeMs } from '../../domain/clock.ts';
import { endsWithTrigger } from '../../domain/compaction.ts';
import { createId } from '../../domain/ids.ts';
import type { ImageRequest } from '../../domain/images.ts';
import { takeInput } from './conversation.ts';
import type { ImageRun } from './image-run.ts';
import type { RetrievalFinish, RetrievalRun } from './retrieval-run.ts';
import type { Run, RunBase } from './run.ts';
import type { RunInput, RunOrigin } from './run-origin.ts';

/** Replaces the ids of end users and workspaces, so that providers and the store never get them. */
export interface Pseudonyms {
  /** Hashes the id of an end user with a key. */
  hashEndUser: (workspaceId: string, id: string) => string;
  /** Returns the identity of a workspace for providers. Absent or undefined: they get none. */
  identifyAccount?: (workspaceId: string) => string | undefined;
}

/** Creates the run of an accepted request for a response. */
export function createRun({ hashEndUser, identifyAccount }: Pseudonyms, input: RunInput): Run {
  const { request, source } = input;
  const { workspaceId } = input.caller;
  const session = request.session_id ?? request.prompt_cache_key;
  return {
    ...createBase(input, request.safety_identifier ?? request.user, hashEndUser),
    request,
    compacts: endsWithTrigger(request.input),
    input: takeInput(request, source),
    steps: [],
    responseId: createId('resp_'),
    account: identifyAccount?.(workspaceId),
    session: session ? hashEndUser(workspaceId, `session\0${session}`) : undefined,
    returnsReasoning: input.returnsReasoning === true,
    onlyOfferedCalls: input.onlyOfferedCalls === true,
    builder: undefined,
    activePlugins: undefined,
    toolLoop: undefined,
    media: undefined,
  };
}

/** Creates the run of an accepted image generation. */
export function createImageRun({ hashEndUser }: Pseudonyms, request: ImageRequest, origin: RunOrigin): ImageRun {
  return {
    ...createBase(origin, request.user, hashEndUser),
    request,
    steps: [],
    references: [],
    isComplete: false,
  };
}

/** Creates the run of accepted embeddings or of an accepted rerank. */
export function createRetrievalRun<Q extends { user?: string } & RunBase['request'], F extends RetrievalFinish>(
  { hashEndUser }: Pseudonyms,
  request: Q,
  origin: RunOrigin,
): RetrievalRun<Q, F> {
  return { ...createBase(origin, request.user, hashEndUser), request, steps: [], result: undefined };
}

const createBase = (
  origin: RunOrigin,
  endUser: string | null | undefined,
  hashEndUser: Pseudonyms['hashEndUser'],
): Omit<RunBase, 'request' | 'steps'> => ({
  caller: origin.caller,
  origin: origin.origin,
  generationId: origin.generationId,
  cancellation: origin.cancellation,
  metadata: origin.metadata,
  showsToolOutput: origin.showsToolOutput,
  hasStandardEvents: origin.hasStandardEvents,
  ignoredFields: origin.ignoredFields,
  clamped: origin.clamped,
  modelDefault: origin.modelDefault,
  preset: origin.preset,
  pluginDefaults: origin.pluginDefaults,
  modelLimits: origin.modelLimits,
  parent: origin.parent,
  tags: origin.tags,
  servedTools: origin.servedTools,
  memory: origin.memory,
  startedAtMs: currentTimeMs(),
  startedAt: performance.now(),
  endUser: endUser ? hashEndUser(origin.caller.workspaceId, endUser) : undefined,
  stages: [],
  innerRuns: [],
  unknownProviders: undefined,
  reservation: undefined,
  charges: undefined,
  begunBetween: undefined,
  firstOutputAt: undefined,
  usage: undefined,
  cost: undefined,
  error: undefined,
  isBlocked: false,
  closed: false,
});
