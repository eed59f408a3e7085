import { defineWire } from '../provider.ts';

import { countWhole, createReader, readWhole } from './chunks.ts';
import { readDialect } from './dialect.ts';
import { readError } from './errors.ts';
import { writeRequest } from './request.ts';

/** Google's `generateContent`. */
export const gemini = defineWire({
  id: 'gemini',
  checkDialect: readDialect,
  authorize: (apiKey) => ({ 'x-goog-api-key': apiKey }),
  writeRequest,
  createReader,
  readWhole,
  countWhole,
  readError,
});
