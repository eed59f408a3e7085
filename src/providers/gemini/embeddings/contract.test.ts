import { expect, it } from 'vitest';
import { testWholeWire } from '../../whole-contract.ts';
import { gemini } from '../index.ts';

testWholeWire(gemini, new URL('recordings', import.meta.url), {
  errors: { 'one-missing.embedding.http': 'upstream_failed', 'quota.http': 'rate_limited' },
  uncounted: ['floats.embedding.http'],
});

const target = { endpoint: 'acme/one at Acme', upstreamModel: 'gemini-embedding-001', stream: false, dialect: {} };
const call = { format: 'base64', dimensions: 256, inputType: 'search_query' } as const;

it('writes a request for each input', () => {
  const written = gemini.embedding.writeRequest({ ...call, input: { kind: 'text', items: ['one', 'two'] } }, target);

  expect(written.path).toBe('/models/gemini-embedding-001:batchEmbedContents');
  expect(written.body).toEqual({
    requests: ['one', 'two'].map((text) => ({
      model: 'models/gemini-embedding-001',
      taskType: 'RETRIEVAL_QUERY',
      outputDimensionality: 256,
      content: { parts: [{ text }] },
    })),
  });
});

it('sends images as data, and says that it fetches none', () => {
  const writeImage = (url: string) => {
    const parts = [{ type: 'image_url' as const, image_url: { url } }];
    return gemini.embedding.writeRequest({ ...call, input: { kind: 'parts', items: [parts] } }, target).body;
  };

  expect(writeImage('data:image/png;base64,AAAA')).toMatchObject({
    requests: [{ content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] } }],
  });
  expect(() => writeImage('https://acme.test/a.png')).toThrow('Send the image as a data URL');
});
