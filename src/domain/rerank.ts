import { estimateTokens } from './estimate-tokens.ts';
import type { Usage } from './usage.ts';

/**
 * A checked `POST /rerank` body.
 *
 * @see docs/reference/rerank.md#request-body
 */
export interface RerankRequest {
  model?: string;
  models?: string[];
  query: string;
  documents: readonly string[];
  /** Number of results. Undefined: one for each document. */
  topN?: number;
  /** Whether the results contain the documents. */
  returnsDocuments: boolean;
  maxTokensPerDocument?: number;
  provider?: Record<string, unknown>;
  session_id?: string;
  trace?: Record<string, unknown>;
  user?: string;
}

/** The capabilities of an endpoint that reranks. */
export interface RerankFacts {
  /** Maximum number of documents of one request. */
  readonly maxBatch: number;
}

/** The part of a request that wires carry. */
export type RerankCall = Pick<RerankRequest, 'query' | 'documents' | 'topN' | 'maxTokensPerDocument'>;

/** The relevance of a document. */
export interface Ranked {
  /** In the list of documents. */
  readonly index: number;
  /** Higher is more relevant. The scale depends on the model. */
  readonly score: number;
}

/** The response of a provider. */
export interface RerankFinish {
  type: 'finish';
  /** The most relevant document first. */
  results: readonly Ranked[];
  model?: string | undefined;
  usage?: Usage | undefined;
}

/** Estimated tokens of a query with all documents. */
export const estimateRerank = ({ query, documents }: Pick<RerankRequest, 'query' | 'documents'>): number =>
  estimateTokens([query, ...documents]);

/** Documents that one search unit covers, in the prices of most providers. */
export const DOCUMENTS_OF_SEARCH = 100;
