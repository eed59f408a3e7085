import type { Chunk } from '../domain/chunks.ts';
import type { ResponseEvent } from '../domain/events.ts';
import type { Sink } from '../domain/sink.ts';
import type { Endpoint } from '../providers/provider-entry.ts';
import type { Plan } from '../routing/plan-route.ts';
import type { Reviser } from './revise.ts';
import type { Run, RunInput } from './run.ts';

/** What `prepare` learned: who will revise the chunks. */
export interface Prepared {
  revisers: readonly Reviser[];
}

/**
 * The stages of a run, in the order in which they are run. `ARCHITECTURE.md` draws them; a test holds the drawing to
 * this list.
 */
export const stageOrder = [
  'startRun',
  'inspectInput',
  'prepare',
  'planRoute',
  'runSteps',
  'revise',
  'buildEvents',
  'closeRun',
] as const;

/** The stages as functions; `assemble-stages.ts` makes them of what the composition root hands over. */
export interface Stages {
  startRun(input: RunInput): Run;
  /** @throws {GatewayError} when the input may not pass */
  inspectInput(run: Run): void;
  prepare(run: Run): Prepared;
  /** A promise only where a model is asked first, or money is held elsewhere. @throws {GatewayError} when there is nowhere to go */
  planRoute(run: Run): Plan<Endpoint> | Promise<Plan<Endpoint>>;
  /**
   * Asks endpoints, in the order of the plan, until one has answered in full.
   *
   * @throws {GatewayError} when none did
   */
  runSteps(run: Run, plan: Plan<Endpoint>, out: Sink<Chunk>): Promise<void>;
  revise(prepared: Prepared, out: Sink<Chunk>): Sink<Chunk>;
  buildEvents(run: Run, client: Sink<ResponseEvent>): Sink<Chunk>;
  /** Settles and books, whatever happened before; once, however often it is called. */
  closeRun(run: Run): void;
}
