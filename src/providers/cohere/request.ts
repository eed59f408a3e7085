import type { EmbeddingCall, EmbeddingInputType, VectorFormat } from '../../domain/embeddings.ts';
import type { RerankCall } from '../../domain/rerank.ts';
import { refuseBecause } from '../kit/draft.ts';
import type { Target, UpstreamRequest } from '../wire.ts';

/** Facts about a call that its reader needs. */
export interface ReaderContext {
  /** Number of inputs or documents. */
  count: number;
  format: VectorFormat;
}

/** Every request needs a purpose. choice 627 */
const usualType = 'search_document';
const types: Partial<Record<EmbeddingInputType, string>> = {
  search_query: 'search_query',
  question_answering: 'search_query',
  search_document: 'search_document',
  classification: 'classification',
  clustering: 'clustering',
};

/** Writes the body of `/embed`. @see https://docs.cohere.com/v2/reference/embed */
export function writeEmbed(call: EmbeddingCall, target: Target): UpstreamRequest<ReaderContext> {
  const { input, dimensions, format, inputType } = call;
  if (input.kind === 'tokens') {
    throw refuseBecause('input', `${target.endpoint} does not support arrays of tokens. Send texts.`);
  }
  const dropped: string[] = [];
  const type = inputType === undefined ? usualType : types[inputType];
  if (type === undefined) dropped.push('input_type');
  const body: Record<string, unknown> = {
    model: target.upstreamModel,
    input_type: type ?? usualType,
    embedding_types: [format],
    ...(input.kind === 'text' ? { texts: input.items } : { inputs: input.items.map((content) => ({ content })) }),
  };
  if (dimensions !== undefined) body['output_dimension'] = dimensions;
  return { path: '/embed', body, dropped, readerContext: { count: input.items.length, format } };
}

/** Writes the body of `/rerank`. @see https://docs.cohere.com/v2/reference/rerank */
export function writeRerank(call: RerankCall, target: Target): UpstreamRequest<ReaderContext> {
  const { query, documents, topN, maxTokensPerDocument } = call;
  const body: Record<string, unknown> = { model: target.upstreamModel, query, documents };
  if (topN !== undefined) body['top_n'] = topN;
  if (maxTokensPerDocument !== undefined) body['max_tokens_per_doc'] = maxTokensPerDocument;
  return { path: '/rerank', body, dropped: [], readerContext: { count: documents.length, format: 'float' } };
}
