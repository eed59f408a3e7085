import type { EmbeddingCall, EmbeddingFacts, EmbeddingFinish } from '../domain/embeddings.ts';
import type { GatewayError } from '../domain/errors.ts';
import type { RerankCall, RerankFacts, RerankFinish } from '../domain/rerank.ts';
import type { Target, UpstreamErrorResponse, UpstreamRequest } from './wire.ts';

/**
 * Translates calls whose responses are always whole. All functions are synchronous translation without I/O.
 * `pipeline/retrieval/` runs them over `transport.ts`.
 */
export interface WholeWire<Call, Finish, ReaderContext = unknown> {
  /**
   * Translates a call.
   *
   * @throws {GatewayError} `invalid_request` naming field and endpoint, if the wire cannot carry a field and omitting
   *   it would change the meaning. Fields that are harmless to omit are listed in `dropped`.
   */
  writeRequest(call: Call, target: Target): UpstreamRequest<ReaderContext>;
  /**
   * Reads a response (parsed JSON).
   *
   * @throws {GatewayError} `upstream_failed` if the body is invalid, or the error that the body reports
   */
  readWhole(body: unknown, readerContext: ReaderContext): Finish;
  /** Interprets a status other than 2xx. Absent: the wire's `readError` is used. */
  readError?(response: UpstreamErrorResponse): GatewayError;
  /** Responds inside this process, without the network. @returns the body of the response as JSON */
  readonly send?: (request: UpstreamRequest<ReaderContext>, signal: AbortSignal) => Promise<Buffer>;
}

/**
 * Makes embeddings: the `embedding` of a `Wire`. Vectors are not parsed: `readWhole` reads them with `readVector` of
 * `kit/lift-vectors.ts`, and the pipeline converts their format only if the client wants the other one.
 */
export interface EmbeddingWire<ReaderContext = unknown>
  extends WholeWire<EmbeddingCall, EmbeddingFinish, ReaderContext> {
  /** The capabilities of an endpoint if neither the catalog nor the configuration describes it. */
  readonly facts: EmbeddingFacts;
}

/** Reranks documents: the `rerank` of a `Wire`. */
export interface RerankWire<ReaderContext = unknown> extends WholeWire<RerankCall, RerankFinish, ReaderContext> {
  /** The capabilities of an endpoint if neither the catalog nor the configuration describes it. */
  readonly facts: RerankFacts;
}

/** Keeps the type of `ReaderContext` between the functions of one wire and hides it from all others. */
export function defineEmbeddingWire<ReaderContext>(embedding: EmbeddingWire<ReaderContext>): EmbeddingWire {
  // Only the wire that created a reader context receives it, so dropping its type is safe.
  return embedding as unknown as EmbeddingWire;
}

/** The same for wires that rerank. */
export function defineRerankWire<ReaderContext>(rerank: RerankWire<ReaderContext>): RerankWire {
  return rerank as unknown as RerankWire; // see above
}
