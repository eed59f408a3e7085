import type { EmbeddingCall } from '../../domain/embeddings.ts';
import type { RerankCall } from '../../domain/rerank.ts';
import { refuseBecause } from '../kit/draft.ts';
import type { Target, UpstreamRequest } from '../wire.ts';
import type { Dialect } from './dialect.ts';

/** Facts about a call that its reader needs. */
export interface ReaderContext {
  /** Number of inputs or documents. */
  count: number;
}

/**
 * Writes the body of `/embeddings`.
 *
 * @see https://platform.openai.com/docs/api-reference/embeddings
 */
export function writeEmbeddings(call: EmbeddingCall, target: Target, dialect: Dialect): UpstreamRequest<ReaderContext> {
  const { input, dimensions, format, inputType, neededType } = call;
  if (input.kind === 'tokens' && !dialect.token_arrays) {
    throw refuseBecause('input', `${target.endpoint} does not support arrays of tokens. Send texts.`);
  }
  const parts = input.kind === 'parts' && { input: input.items.map((content) => ({ content })) };
  const texts = input.kind === 'text' && { input: fitTexts(input.items, dialect) };
  const body: Record<string, unknown> = { model: target.upstreamModel, input: input.items, ...parts, ...texts };
  const dropped: string[] = [];
  if (dimensions !== undefined) body[dialect.dimensions_field] = dimensions;
  if (neededType !== undefined) body['input_type'] = neededType;
  else if (inputType !== undefined) {
    const { input_type_field: field, input_types: words } = dialect;
    const word = words[inputType];
    if (field !== null && word !== undefined) body[field] = word;
    else dropped.push('input_type');
  }
  // Floats are the default of every server. Some servers do not have the field.
  if (format === 'base64' && !dialect.omit.includes('encoding_format')) body[dialect.format_field] = 'base64';
  addUser(body, target, dialect, dropped);
  return { path: '/embeddings', body, dropped, readerContext: { count: input.items.length } };
}

/** Writes the body of `/rerank`. The gateway adds the documents to the response, so they are not sent back. */
export function writeRerank(call: RerankCall, target: Target, dialect: Dialect): UpstreamRequest<ReaderContext> {
  const { query, topN, maxTokensPerDocument } = call;
  const documents = fitTexts(call.documents, dialect);
  const dropped = maxTokensPerDocument === undefined ? [] : ['max_tokens_per_doc'];
  const readerContext = { count: documents.length };
  if (dialect.rerank_texts) {
    // The server has no ids of end users.
    if (target.endUser !== undefined) dropped.push('user');
    return { path: '/rerank', body: { query, texts: documents }, dropped, readerContext };
  }
  if (dialect.rerank_passages !== null) {
    if (target.endUser !== undefined) dropped.push('user');
    const passages = documents.map((text) => ({ text }));
    // Without it, the server rejects a passage that is longer than the model reads.
    const body = { model: target.upstreamModel, query: { text: query }, passages, truncate: 'END' };
    return { path: dialect.rerank_passages, body, dropped, readerContext };
  }
  const body: Record<string, unknown> = { model: target.upstreamModel, query, documents };
  if (topN !== undefined) body[dialect.top_n_field] = topN;
  if (!dialect.omit.includes('return_documents')) body['return_documents'] = false;
  addUser(body, target, dialect, dropped);
  return { path: '/rerank', body, dropped, readerContext };
}

/** Writes a space instead of an empty text, for servers that reject it. An index must not move. */
const fitTexts = (texts: readonly string[], { empty_texts: takesEmpty }: Dialect): readonly string[] =>
  takesEmpty || !texts.includes('') ? texts : texts.map((text) => text || ' ');

function addUser(body: Record<string, unknown>, { endUser }: Target, { omit }: Dialect, dropped: string[]): void {
  if (endUser === undefined) return;
  if (omit.includes('user')) dropped.push('user');
  else body['user'] = endUser;
}
