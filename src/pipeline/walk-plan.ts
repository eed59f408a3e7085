import { performance } from 'node:perf_hooks'; // the global is a getter
import { type Availability, asGatewayError, type GatewayError, createAvailability } from '../domain/errors.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { Sink } from '../domain/sink.ts';
import { totalOf } from '../metering/cost.ts';
import type { Endpoint } from '../providers/provider-entry.ts';
import { type AttemptOutcome, type Health, isEndpointFault } from '../routing/health.ts';
import type { InFlight } from '../routing/in-flight.ts';
import type { Plan } from '../routing/plan-route.ts';
import { copyError } from './copy-error.ts';
import type { AttemptRecord, RunBase } from './run.ts';
import type { AttemptCost } from './attempt-cost.ts';

/**
 * What differs between the runs that walk a plan: what an answer consists of, and how an endpoint is asked for one.
 * `response-strategy.ts` has one, `image-stages.ts` the other.
 */
export interface AttemptStrategy<R extends RunBase, C> {
  /** One try. @throws {GatewayError} whatever went wrong; `retryable` when another endpoint may do better */
  attempt(run: R, endpoint: Endpoint, limitBytes: number, out: Sink<C>): Promise<void>;
  /** With this chunk the client sees something, so that no other endpoint may take over. */
  isShown(run: R, chunk: C): boolean;
  /** Told also of an attempt that failed. */
  isKept(chunk: C): boolean;
  /** What the attempt that has just ended tells of its endpoint. */
  describeOutcome(run: R, error: GatewayError | undefined): AttemptOutcome;
  /**
   * What an attempt that failed before it was shown has used all the same. Absent: failures cost nothing.
   *
   * @param held what it has said
   */
  measureFailed?(run: R, endpoint: Endpoint, held: readonly C[]): AttemptCost | undefined;
  /** Forgets what the attempt that failed has said. */
  resetAttempt(run: R): void;
}

/**
 * Walks the plan until an endpoint answers. What an endpoint says is held back until it is visible output (for a
 * buffered answer: until its end), so that an endpoint that dies before leaves no trace but its attempt record.
 *
 * Failures that are the endpoint's go to its health, and a key that was refused rests while another one is tried. A model
 * whose limit is reached (`limits.models`) is passed over.
 *
 * @throws {GatewayError} of the last endpoint tried, with the earlier ones in `metadata.previous_errors`; `rate_limited`
 *   when all were passed over
 * @see routing.md section 7, interface "Events"
 */
export async function walkPlan<R extends RunBase, C>(
  run: R,
  plan: Plan<Endpoint>,
  work: AttemptStrategy<R, C>,
  bounds: WalkBounds,
  out: Sink<C>,
): Promise<void> {
  const gate = new Gate(run, work, out);
  const { health, inFlight, maxAttempts, limitBytes } = bounds;
  const lost = new Set<string>(); // models that blamed the request are not asked again elsewhere
  let entered: string | undefined; // the model whose limit has let the run in
  let limited: GatewayError | undefined; // why the first of those that did not
  let failure: GatewayError | undefined;
  let keysTried = 0; // of the endpoint at hand
  let asked = 0;

  for (let index = 0; index < plan.endpoints.length && asked < maxAttempts; ) {
    const endpoint: Endpoint = plan.endpoints[index]!;
    if (lost.has(endpoint.model)) {
      index++;
      continue;
    }
    if (run.modelLimits && endpoint.model !== entered) {
      const answer = run.modelLimits.enter(endpoint.model);
      const refusal = answer instanceof Promise ? await answer : answer;
      if (refusal) {
        lost.add(endpoint.model);
        passOver(run, plan, endpoint.model, refusal);
        limited ??= refusal;
        index++;
        continue;
      }
      entered = endpoint.model;
    }
    if (run.attempts.length > 0) {
      const raised = reserveFailedCost(run);
      if (raised instanceof Promise) await raised;
    }
    const record: AttemptRecord = { endpoint, status: 200 };
    run.attempts.push(record);
    gate.endpoint = endpoint;
    try {
      inFlight.begin(endpoint.id);
      try {
        await work.attempt(run, endpoint, limitBytes, gate);
      } finally {
        inFlight.end(endpoint.id);
      }
      health.record(endpoint.id, work.describeOutcome(run, undefined));
      return;
    } catch (error) {
      failure = asGatewayError(error);
      record.status = failure.status;
      record.error = failure;
      if (run.upstreamEndedAt !== undefined) {
        record.dispatchedAt = run.dispatchedAt;
        record.endedAt = run.upstreamEndedAt;
      }
      const { keys } = endpoint.provider;
      const isLeft = failure.blamesKey && run.key !== undefined && keys.rest(run.key, failure);
      const hasOtherKey = isLeft && ++keysTried < keys.size;
      if (!hasOtherKey) health.record(endpoint.id, work.describeOutcome(run, failure));
      if (run.selected) throw failure; // the client has seen some of it
      const spent = work.measureFailed?.(run, endpoint, gate.held);
      if (spent) record.spent = spent;
      gate.forgetFailed();
      work.resetAttempt(run);
      const next = run.cancellation.reason ? 'nowhere' : whereNext(failure);
      if (next === 'nowhere') break;
      if (next === 'model') lost.add(endpoint.model);
      if (hasOtherKey) continue;
      keysTried = 0;
      asked++;
      index++;
    }
  }
  throw failure ? withHistory(run, failure) : limited!; // there is an endpoint at least
}

/**
 * What attempts have cost that broke off is held besides what the next one may cost.
 *
 * @returns a promise only where money is held elsewhere
 * @throws {GatewayError} when it may not be spent, telling of those attempts
 */
function reserveFailedCost(run: RunBase): MaybePromise<void> {
  const broken = run.attempts.flatMap(({ endpoint, spent }) =>
    spent ? { costNanoUsd: totalOf(spent.cost), isByok: endpoint.workspace !== undefined } : [],
  );
  if (broken.length === 0 || !run.reservation) return undefined;
  const refuse = (error: unknown): never => {
    const refusal = asGatewayError(error);
    const metadata = { ...refusal.metadata, previous_errors: describeErrors(run.attempts) };
    throw copyError(refusal, refusal.message, { metadata });
  };
  try {
    const raised = run.reservation.raise(broken);
    return raised instanceof Promise ? raised.catch(refuse) : undefined;
  } catch (error) {
    return refuse(error);
  }
}

/** Notes why the endpoints of a model are not asked. */
function passOver(run: RunBase, plan: Plan<Endpoint>, model: string, { message }: GatewayError): void {
  const those = plan.endpoints.filter((endpoint) => endpoint.model === model);
  run.passedOver = [
    ...(run.passedOver ?? []),
    ...those.map((endpoint) => ({ endpoint, code: 'limits', reason: message })),
  ];
}

/** What holds for every run, whatever its plan. */
export interface WalkBounds {
  /** The largest whole answer, or single stream event, that is read, in bytes. */
  limitBytes: number;
  maxAttempts: number;
  health: Pick<Health, 'record'>;
  inFlight: Pick<InFlight, 'begin' | 'end'>;
}

/** Holds chunks back until they may be shown; from then on the endpoint that made them is the one that answers. */
class Gate<R extends RunBase, C> implements Sink<C> {
  endpoint: Endpoint | undefined;
  private readonly run: R;
  private readonly work: AttemptStrategy<R, C>;
  private readonly out: Sink<C>;
  held: C[] = [];

  constructor(run: R, work: AttemptStrategy<R, C>, out: Sink<C>) {
    this.run = run;
    this.work = work;
    this.out = out;
  }

  write(chunks: C[]): Promise<void> | undefined {
    if (this.run.selected) return this.out.write(chunks);
    for (const chunk of chunks) this.held.push(chunk);
    if (!chunks.some((chunk) => this.work.isShown(this.run, chunk))) return undefined;
    this.run.selected = this.endpoint;
    this.run.firstOutputAt = performance.now();
    const { held } = this;
    this.held = [];
    return this.out.write(held);
  }

  /** Of what a failed endpoint said only what tells of the attempt itself stays. */
  forgetFailed(): void {
    this.held = this.held.filter(this.work.isKept);
  }
}

/** Where a failed attempt may go on: to the next endpoint, to the next model only, or nowhere. */
function whereNext(failure: GatewayError): 'endpoint' | 'model' | 'nowhere' {
  // A wire that cannot carry a field says so before anything is sent; another wire may.
  if (failure.retryable || failure.kind === 'invalid_request') return 'endpoint';
  switch (failure.kind) {
    case 'upstream_rejected':
    case 'context_length_exceeded':
    case 'content_policy':
    case 'unprocessable':
      return 'model';
    default:
      return 'nowhere';
  }
}

/**
 * The last failure, telling of the others, and whether it is worth to come again. That a provider does not have the model
 * is told only when no endpoint failed otherwise: those may serve it later.
 */
function withHistory(run: RunBase, failure: GatewayError): GatewayError {
  const tried = run.attempts.filter((record) => record.error !== undefined);
  const other = tried.findLast(({ error }) => error?.kind !== 'model_unavailable');
  const last = (failure.kind === 'model_unavailable' && other?.error) || failure;
  const availability = describeAvailability(run, tried, last);
  if (tried.length < 2) return availability ? copyError(last, last.message, { availability }) : last;
  const waits = tried.flatMap(({ error }) => error?.retryAfterSeconds ?? []);
  return copyError(last, last.message, {
    metadata: {
      ...last.metadata,
      previous_errors: describeErrors(tried.filter(({ error }) => error !== last)),
    },
    ...(availability === undefined ? undefined : { availability }),
    ...(waits.length === 0 ? undefined : { retryAfterSeconds: Math.min(...waits) }),
  });
}

const describeErrors = (tried: readonly AttemptRecord[]) =>
  tried.map(({ endpoint, status, error }) => ({
    provider: endpoint.provider.name,
    code: error?.providerCode ?? error?.errorType,
    status,
  }));

/**
 * When every attempt failed for want of capacity, or of a provider that works or has the model. The code goes with the
 * status that the caller is told, whatever the other attempts came to. @see routing.md section 8.3
 */
function describeAvailability(
  { plan }: RunBase,
  tried: readonly AttemptRecord[],
  told: GatewayError,
): Availability | undefined {
  const isGone = told.kind === 'model_unavailable';
  const isLimited = told.kind === 'rate_limited';
  const isDown = tried.every(
    ({ error }) => error !== undefined && (isEndpointFault(error) || error.kind === 'rate_limited'),
  );
  // A path that is missing stays missing until the operator corrects the configuration.
  const isLasting = tried.every(({ error }) => error?.kind === 'upstream_path_missing');
  if (tried.length === 0 || !isDown || isLasting) return undefined;
  const waits = tried.flatMap(({ error }) => error?.retryAfterSeconds ?? []);
  const code = isGone ? 'model_unavailable_upstream' : isLimited ? 'capacity_exhausted' : 'temporarily_unavailable';
  return createAvailability(code, plan?.slugs ?? [], {
    retryable: !isGone,
    affected_providers: [...new Set(tried.map(({ endpoint }) => endpoint.provider.name))],
    ...(waits.length === 0 ? undefined : { retry_after: Math.min(...waits) }),
  });
}
