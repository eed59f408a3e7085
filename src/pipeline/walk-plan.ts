import { type Chunk, isVisible } from '../domain/chunks.ts';
import { asGatewayError, GatewayError } from '../domain/errors.ts';
import type { Endpoint } from '../providers/provider-entry.ts';
import type { Plan } from '../routing/plan-route.ts';
import { attempt } from './attempt.ts';
import type { Run } from './run.ts';

/**
 * Walks the plan until an endpoint answers. What an endpoint says is held back until it is visible output (for a
 * buffered answer: until its end), so that an endpoint that dies before leaves no trace but its attempt record.
 *
 * @throws {GatewayError} of the last endpoint tried, with the earlier ones in `metadata.previous_errors`
 * @see routing.md section 7, interface "Events"
 */
export async function* walkPlan(run: Run, plan: Plan<Endpoint>, limitBytes: number): AsyncGenerator<Chunk[]> {
  const buffered = run.request.stream !== true;
  let held: Chunk[] = [];
  let lostModel: string | undefined; // a model that blamed the request is not asked again elsewhere
  let failure: GatewayError | undefined;

  for (const endpoint of plan.endpoints) {
    if (endpoint.model === lostModel) continue;
    let visible = false;
    try {
      for await (const chunks of attempt(run, endpoint, limitBytes)) {
        if (!visible) {
          held = held.length === 0 ? chunks : held.concat(chunks);
          if (!chunks.some(buffered ? isFinish : isVisible)) continue;
          visible = true;
          run.selected = endpoint;
          run.firstOutputAt = performance.now();
          run.attempts.push({ endpoint, status: 200 });
          yield held;
        } else {
          yield chunks;
        }
      }
      return;
    } catch (error) {
      failure = asGatewayError(error);
      if (visible || run.signal.aborted) throw failure;
      run.attempts.push({ endpoint, status: failure.status, error: failure });
      held = held.filter((chunk) => chunk.type === 'debug');
      run.finish = undefined;
      const next = whereNext(failure);
      if (next === 'nowhere') throw failure;
      if (next === 'model') lostModel = endpoint.model;
    }
  }
  throw withHistory(run, failure!);
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
  const kinds = new Set(tried.map(({ error }) => error?.kind));
  return new GatewayError(last.kind, last.message, {
    metadata: {
      ...last.metadata,
      previous_errors: tried.slice(0, -1).map(({ endpoint, status, error }) => ({
        provider: endpoint.provider.name,
        code: error?.providerCode ?? error?.errorType,
        status,
      })),
    },
    errorType: last.errorType,
    retryable: last.retryable,
    cause: last.cause,
    ...(last.availability === undefined ? undefined : { availability: last.availability }),
    ...(last.providerCode === undefined ? undefined : { providerCode: last.providerCode }),
    ...(waits.length === 0 || kinds.size > 1 ? undefined : { retryAfterSeconds: Math.min(...waits) }),
  });
}
