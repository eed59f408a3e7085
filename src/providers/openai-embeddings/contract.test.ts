import { expect, it } from 'vitest';
import { testWholeWire } from '../whole-contract.ts';
import { openaiEmbeddings, textWireEmbedding } from './index.ts';

testWholeWire(openaiEmbeddings, new URL('recordings', import.meta.url), {
  errors: {
    'bad-key.http': 'upstream_key_rejected',
    'no-vector.embedding.http': 'upstream_failed',
    'one-missing.embedding.http': 'upstream_failed',
    'other-index.rerank.http': 'upstream_failed',
    'rate-limited.http': 'rate_limited',
    'too-long.http': 'context_length_exceeded',
  },
  uncounted: ['no-usage.embedding.http', 'tei.rerank.http'],
  takesTokens: true,
});

const target = { endpoint: 'acme/one at Acme', upstreamModel: 'one', stream: false, endUser: 'hash' };
const call = {
  input: { kind: 'text', items: ['one'] },
  format: 'base64',
  dimensions: 256,
  inputType: 'search_query',
} as const;

it('writes the fields of OpenAI, and names those that it has not', () => {
  expect(openaiEmbeddings.embedding.writeRequest(call, { ...target, dialect: {} })).toMatchObject({
    path: '/embeddings',
    body: { model: 'one', input: ['one'], dimensions: 256, encoding_format: 'base64', user: 'hash' },
    dropped: ['input_type'],
  });
});

it('writes the fields of another server', () => {
  const dialect = {
    format_field: 'embedding_type',
    dimensions_field: 'output_dimension',
    input_type_field: 'task',
    input_types: { search_query: 'retrieval.query' },
    top_n_field: 'top_k',
    omit: ['user'],
  };
  const voyage = { ...target, dialect };

  expect(openaiEmbeddings.embedding.writeRequest(call, voyage)).toMatchObject({
    body: { output_dimension: 256, embedding_type: 'base64', task: 'retrieval.query' },
    dropped: ['user'],
  });
  const ranking = { query: 'a', documents: ['b'], topN: 1, maxTokensPerDocument: 5 };
  expect(openaiEmbeddings.rerank.writeRequest(ranking, voyage)).toMatchObject({
    path: '/rerank',
    body: { model: 'one', query: 'a', documents: ['b'], top_k: 1, return_documents: false },
    dropped: ['max_tokens_per_doc', 'user'],
  });
});

it('asks for numbers without a field, because they are the default everywhere', () => {
  const { body } = openaiEmbeddings.embedding.writeRequest({ ...call, format: 'float' }, { ...target, dialect: {} });

  expect(Object.keys(body)).toEqual(['model', 'input', 'dimensions', 'user']);
});

it('writes the fields of TEI', () => {
  const ranking = { query: 'a', documents: ['b', 'c'], topN: 1, maxTokensPerDocument: 5 };
  const { body, dropped } = openaiEmbeddings.rerank.writeRequest(ranking, {
    ...target,
    dialect: { rerank_texts: true },
  });
  expect(body).toEqual({ query: 'a', texts: ['b', 'c'] });
  expect(dropped).toEqual(['max_tokens_per_doc', 'user']);
});

it('drops the fields that a server of text rejects', () => {
  const dialect = { omit: ['user', 'verbosity'], max_tokens_field: 'max_tokens' };

  expect(textWireEmbedding.writeRequest(call, { ...target, dialect }).body).not.toHaveProperty('user');
});
