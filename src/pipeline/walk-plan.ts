import { performance } from 'node:perf_hooks'; // the global is a getter
import { type Chunk, isVisible } from '../domain/chunks.ts';
import { asGatewayError, type GatewayError } from '../domain/errors.ts';
import type { Taker } from '../domain/taker.ts';
import type { Endpoint } from '../providers/provider-entry.ts';
import type { Plan } from '../routing/plan-route.ts';
import { attempt } from './attempt.ts';
import { copyError } from './copy-error.ts';
import type { AttemptRecord, Run } from './run.ts';

/**
 * Walks the plan until an endpoint answers. What an endpoint says is held back until it is visible output (for a
 * buffered answer: until its end), so that an endpoint that dies before leaves no trace but its attempt record.
 *
 * @throws {GatewayError} of the last endpoint tried, with the earlier ones in `metadata.previous_errors`
 * @see routing.md section 7, interface "Events"
 */
export async function walkPlan(run: Run, plan: Plan<Endpoint>, limitBytes: number, out: Taker<Chunk>): Promise<void> {
  const gate = new Gate(run, out);
  let lostModel: string | undefined; // a model that blamed the request is not asked again elsewhere
  let failure: GatewayError | undefined;

  for (const endpoint of plan.endpoints) {
    if (endpoint.model === lostModel) continue;
    const record: AttemptRecord = { endpoint, status: 200 };
    run.attempts.push(record);
    gate.endpoint = endpoint;
    try {
      await attempt(run, endpoint, limitBytes, gate);
      return;
    } catch (error) {
      failure = asGatewayError(error);
      record.status = failure.status;
      record.error = failure;
      if (run.selected) throw failure; // the client has seen some of it
      gate.forgetFailed();
      run.finish = undefined;
      const next = run.cancellation.reason ? 'nowhere' : whereNext(failure);
      if (next === 'nowhere') break;
      if (next === 'model') lostModel = endpoint.model;
    }
  }
  throw withHistory(run, failure!);
}

/** Holds chunks back until they may be shown; from then on the endpoint that made them is the one that answers. */
class Gate implements Taker<Chunk> {
  endpoint: Endpoint | undefined;
  private readonly run: Run;
  private readonly out: Taker<Chunk>;
  private readonly isShown: (chunk: Chunk) => boolean;
  private held: Chunk[] = [];

  constructor(run: Run, out: Taker<Chunk>) {
    this.run = run;
    this.out = out;
    this.isShown = run.request.stream === true ? isVisible : isFinish;
  }

  take(chunks: Chunk[]): Promise<void> | undefined {
    if (this.run.selected) return this.out.take(chunks);
    for (const chunk of chunks) this.held.push(chunk);
    if (!chunks.some(this.isShown)) return undefined;
    this.run.selected = this.endpoint;
    this.run.firstOutputAt = performance.now();
    const { held } = this;
    this.held = [];
    return this.out.take(held);
  }

  /** Of what a failed endpoint said only the debug chunk of its attempt stays. */
  forgetFailed(): void {
    this.held = this.held.filter((chunk) => chunk.type === 'debug');
  }
}

const isFinish = (chunk: Chunk): boolean => chunk.type === 'finish';

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

/** The last failure, telling of those before it. */
function withHistory(run: Run, last: GatewayError): GatewayError {
  const tried = run.attempts.filter((record) => record.error !== undefined);
  if (tried.length < 2) return last;
  const waits = tried.flatMap(({ error }) => error?.retryAfterSeconds ?? []);
  return copyError(last, last.message, {
    metadata: {
      ...last.metadata,
      previous_errors: tried.slice(0, -1).map(({ endpoint, status, error }) => ({
        provider: endpoint.provider.name,
        code: error?.providerCode ?? error?.errorType,
        status,
      })),
    },
    ...(waits.length === 0 ? undefined : { retryAfterSeconds: Math.min(...waits) }),
  });
}
