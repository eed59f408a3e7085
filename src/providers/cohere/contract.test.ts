import { expect, it } from 'vitest';
import { testWholeWire } from '../whole-contract.ts';
import { cohere } from './index.ts';

testWholeWire(cohere, new URL('recordings', import.meta.url), {
  errors: {
    'bad-input.http': 'upstream_rejected',
    'bad-key.http': 'upstream_key_rejected',
    'no-floats.embedding.http': 'upstream_failed',
  },
});

const target = { endpoint: 'acme/one at Acme', upstreamModel: 'one', stream: false, dialect: {} };
const call = { format: 'base64', dimensions: 256, inputType: undefined } as const;

it('writes a purpose even if the request has none', () => {
  expect(cohere.embedding.writeRequest({ ...call, input: { kind: 'text', items: ['one'] } }, target)).toMatchObject({
    path: '/embed',
    body: {
      model: 'one',
      texts: ['one'],
      input_type: 'search_document',
      embedding_types: ['base64'],
      output_dimension: 256,
    },
    dropped: [],
  });
});

it('writes images with their texts, and drops a purpose that it has not', () => {
  const content = [
    { type: 'text' as const, text: 'a fox' },
    { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AAAA' } },
  ];
  const input = { kind: 'parts' as const, items: [content] };

  expect(cohere.embedding.writeRequest({ ...call, input, inputType: 'fact_verification' }, target)).toMatchObject({
    body: { inputs: [{ content }] },
    dropped: ['input_type'],
  });
});

it('counts the tokens of images apart, and search units', () => {
  const images = {
    embeddings: { float: ['AAAAAA=='] },
    meta: { billed_units: { input_tokens: 3, image_tokens: 1210 } },
  };
  expect(cohere.embedding.readWhole(images, { count: 1, format: 'float' }).usage).toMatchObject({
    inputTokens: 1213,
    special: { inputImageTokens: 1210 },
  });
  const scores = { results: [{ index: 0, relevance_score: 1 }], meta: { billed_units: { search_units: 2 } } };
  expect(cohere.rerank.readWhole(scores, { count: 1 }).usage).toMatchObject({
    inputTokens: 0,
    special: { webSearches: 2 },
  });
});
