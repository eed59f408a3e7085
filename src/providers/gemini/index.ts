import { searchTypes } from '../../domain/items.ts';
import { defineWire } from '../wire.ts';
import { countWhole, createReader, readWhole } from './chunks.ts';
import { readDialect } from './dialect.ts';
import { readError } from './errors.ts';
import { geminiImages } from './images/index.ts';
import { writeRequest } from './request.ts';

/** Google's `generateContent`, for words and for pictures. */
export const gemini = defineWire({
  id: 'gemini',
  checkDialect: readDialect,
  carries: ({ what, type }, dialect) => what === 'tool' && searchTypes.has(type) && readDialect(dialect).native_search,
  isOtherSpelling: (upstreamModel) => upstreamModel.startsWith('models/'),
  authorize: (apiKey) => ({ 'x-goog-api-key': apiKey }),
  writeRequest,
  createReader,
  readWhole,
  countWhole,
  readError,
  image: geminiImages,
});
