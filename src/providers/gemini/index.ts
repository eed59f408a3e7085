import { searchTypes } from '../../domain/items.ts';
import { defineTextWire } from '../text-wire.ts';
import type { Wire } from '../wire.ts';
import { countWhole, createReader, readWhole } from './chunks.ts';
import { contentCount } from './count.ts';
import { readDialect } from './dialect.ts';
import { geminiEmbedding } from './embeddings/index.ts';
import { readUpstreamError as readError } from '../errors/upstream-error.ts';
import { geminiImages } from './images/index.ts';
import { writeRequest } from './request.ts';

/** Google's `generateContent` for text and images, and `batchEmbedContents`. */
export const gemini = {
  id: 'gemini',
  checkDialect: readDialect,
  isOtherSpelling: (upstreamModel) => upstreamModel.startsWith('models/'),
  authorize: (apiKey) => ({ 'x-goog-api-key': apiKey }),
  modelsPath: '/models?pageSize=1000',
  tierHeader: 'x-gemini-service-tier', // https://ai.google.dev/gemini-api/docs/priority-inference
  readError,
  text: defineTextWire({
    carries: ({ what, type }, dialect) =>
      type.startsWith('gemini:') ||
      (((what === 'native_search' && type === 'none') || (what === 'tool' && searchTypes.has(type))) &&
        readDialect(dialect).native_search),
    writeRequest,
    createReader,
    readWhole,
    countWhole,
    count: contentCount,
  }),
  image: geminiImages,
  embedding: geminiEmbedding,
} satisfies Wire;
