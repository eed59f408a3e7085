import { type CancelListener, Cancellation } from '../../domain/cancellation.ts';
import { asGatewayError } from '../../domain/errors.ts';
import { isCredible } from '../../domain/usage.ts';
import { estimateUsage } from '../../metering/cost.ts';
import type { WholeWire } from '../../providers/whole-wire.ts';
import type { UpstreamRequest } from '../../providers/wire.ts';
import { receive, takeKey, upstreamOf } from '../attempts/exchange.ts';
import { noteRequestId } from '../attempts/note-request-id.ts';
import type { RetrievalPipeline } from '../retrieval-pipeline.ts';
import type { RetrievalAttempt } from '../run/attempt.ts';
import type { RetrievalFinish, RetrievalRun } from '../run/retrieval-run.ts';
import { CallReading } from './read-call.ts';
import type { RetrievalTask } from './retrieval-task.ts';
import { writeJson } from '../../domain/write-json.ts';

interface ExchangeOptions<Call> {
  /** The endpoint, for messages. */
  name: string;
  task: Pick<RetrievalTask<never, Call, never>, 'adapt' | 'split' | 'estimateCall' | 'hasVectors'>;
  limits: ReturnType<RetrievalPipeline<RetrievalRun>['limits']>;
}

/** The calls of one attempt, which are sent with the same key. */
export class CallExchange<Call, F extends RetrievalFinish> {
  private readonly run: RetrievalRun;
  private readonly attempt: RetrievalAttempt;
  private readonly wire: WholeWire<Call, F>;
  private readonly options: ExchangeOptions<Call>;
  private readonly reading: CallReading<Call, F>;
  private headers: readonly string[] = [];

  constructor(run: RetrievalRun, attempt: RetrievalAttempt, wire: WholeWire<Call, F>, options: ExchangeOptions<Call>) {
    this.run = run;
    this.attempt = attempt;
    this.wire = wire;
    this.options = options;
    this.reading = new CallReading(wire, {
      name: attempt.endpoint.provider.name,
      limitBytes: options.limits.answer,
      hasVectors: options.task.hasVectors,
    });
  }

  /** @throws {GatewayError} `invalid_request` if the wire cannot carry it */
  write(call: Call): UpstreamRequest {
    const { endpoint } = this.attempt;
    const { endUser } = this.run;
    const written = this.wire.writeRequest(call, {
      endpoint: this.options.name,
      upstreamModel: endpoint.upstreamModel,
      stream: false,
      dialect: endpoint.provider.dialect,
      ...(endUser !== undefined && { endUser }),
    });
    this.attempt.droppedFields = written.dropped;
    return written;
  }

  /**
   * Runs all calls, a few at a time. The first failure cancels the others.
   *
   * @param first the first call as it is sent
   * @returns the responses in the order of the calls
   */
  async runAll(calls: readonly Call[], first: UpstreamRequest): Promise<F[]> {
    const { cancellation: outer } = this.run;
    if (!this.wire.send) {
      const { provider } = this.attempt.endpoint;
      upstreamOf(provider);
      this.headers = provider.headersFor(takeKey(this.attempt), false);
    }
    if (calls.length === 1) return this.runCall(calls[0]!, first, outer);
    const together = new Cancellation();
    const listener: CancelListener = { cancelled: (reason) => together.cancel(reason) };
    if (outer.reason) throw outer.reason;
    outer.add(listener);
    const finishes: F[][] = [];
    let next = 0;
    const runSome = async (): Promise<void> => {
      for (let at = next++; at < calls.length && !together.reason; at = next++) {
        const call = calls[at]!;
        finishes[at] = await this.runCall(call, at === 0 ? first : this.write(call), together);
      }
    };
    const work = Array.from({ length: Math.min(this.options.limits.parallelCalls, calls.length) }, () =>
      runSome().catch((error: unknown) => together.cancel(asGatewayError(error))),
    );
    await Promise.all(work);
    outer.remove(listener);
    if (together.reason) throw together.reason;
    return finishes.flat();
  }

  /** @returns more than one response if the server takes fewer inputs than the call has */
  private async runCall(call: Call, written: UpstreamRequest, cancellation: Cancellation): Promise<F[]> {
    const { wire } = this;
    const { task } = this.options;
    let finish: F;
    try {
      finish = wire.send
        ? this.reading.readBody(await wire.send(written, cancellation.signal), written.readerContext)
        : await this.send(written, cancellation);
    } catch (error) {
      const failure = asGatewayError(error);
      const { endpoint } = this.attempt;
      const parts = cancellation.reason ? undefined : task.split?.(call, endpoint, failure);
      if (parts) {
        const finishes: F[] = [];
        for (const part of parts) finishes.push(...(await this.runCall(part, this.write(part), cancellation)));
        return finishes;
      }
      const adapted = wire.send ? undefined : task.adapt?.(call, endpoint, failure);
      if (adapted === undefined || cancellation.reason) throw error;
      finish = await this.send(this.write(adapted), cancellation);
    }
    const { estimateCall } = task;
    const { usage } = finish;
    // A negative count must not make the request free.
    this.attempt.counted.push(usage && isCredible(usage) ? usage : estimateUsage(estimateCall(call), 0));
    return [finish];
  }

  private async send(written: UpstreamRequest, cancellation: Cancellation): Promise<F> {
    const { attempt, wire, headers } = this;
    const { provider } = attempt.endpoint;
    const all = written.headers ? headers.concat(Object.entries(written.headers).flat()) : headers;
    const body = Buffer.from(writeJson(written.body));
    written.body = {}; // it is in memory once
    const response = await provider.upstream!.send(written.path, all, body, cancellation); // `runAll` has checked it
    noteRequestId(attempt, response);
    let finish: F | undefined;
    await receive(response, this.reading.open(written.readerContext), wire.readError ?? attempt.wire.readError, {
      write: ([chunk]) => {
        finish = chunk;
        return undefined;
      },
    });
    return finish!; // `receive` fails without one
  }
}
