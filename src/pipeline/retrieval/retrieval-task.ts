import type { GatewayError } from '../../domain/errors.ts';
import type { Endpoint } from '../../providers/provider.ts';
import type { WholeWire } from '../../providers/whole-wire.ts';
import type { Wire } from '../../providers/wire.ts';
import type { Plan, RoutingCaller, RoutingContext } from '../../routing/plan-route.ts';
import type { RetrievalFinish, RetrievalRun } from '../run/retrieval-run.ts';

/** The differences between embeddings and reranking. */
export interface RetrievalTask<R extends RetrievalRun, Call, F extends RetrievalFinish> {
  readonly apiType: 'embeddings' | 'rerank';
  /** The path of the interface, for messages. */
  readonly path: string;
  /** Whether vectors are taken out of a response before it is parsed. */
  readonly hasVectors: boolean;
  /** @throws {GatewayError} if no endpoint is left */
  plan(
    request: R['request'],
    caller: RoutingCaller,
    routingContext: RoutingContext<Endpoint>,
    onRefused: (refused: Plan<Endpoint>) => void,
  ): Plan<Endpoint>;
  findWire(wire: Wire): WholeWire<Call, F> | undefined;
  /** Splits a request into calls that fit the endpoint, in order. */
  listCalls(request: R['request'], endpoint: Endpoint): readonly Call[];
  /**
   * Returns a call in a form that the server may have, after it has failed.
   *
   * @returns undefined if there is none
   * @throws {GatewayError} that says what the caller can change
   */
  adapt?(call: Call, endpoint: Endpoint, error: GatewayError): Call | undefined;
  /** Splits a call whose inputs are too many for the server, after it has failed. @returns undefined for another error */
  split?(call: Call, endpoint: Endpoint, error: GatewayError): readonly Call[] | undefined;
  /** Estimates the tokens of a call, if the provider does not report them. */
  estimateCall(call: Call): number;
  /** Estimates the bytes of all responses. */
  expectBytes(request: R['request']): number;
  /**
   * Joins the responses to all calls, in order, and checks them.
   *
   * @throws {Error} if they contradict the request
   */
  join(run: R, finishes: readonly F[]): Promise<F>;
}
