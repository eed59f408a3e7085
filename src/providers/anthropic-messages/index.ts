import { searchTypes } from '../../domain/items.ts';
import { defineTextWire } from '../text-wire.ts';
import type { Wire } from '../wire.ts';
import { readUpstreamError } from '../errors/upstream-error.ts';
import { createReader, readWhole } from './chunks.ts';
import { messagesCount } from './count.ts';
import { readDialect } from './dialect.ts';
import { writeRequest } from './request.ts';

/** Any server of `/messages`: Anthropic and compatible servers. */
export const anthropicMessages = {
  id: 'anthropic-messages',
  checkDialect: readDialect,
  headers: { 'anthropic-version': '2023-06-01' },
  authorize: (apiKey) => ({ 'x-api-key': apiKey }),
  modelsPath: '/models?limit=1000',
  readError: readUpstreamError,
  text: defineTextWire({
    carries: ({ what, type }, dialect) =>
      type.startsWith('anthropic:') ||
      ((what === 'native_search' || (what === 'tool' && searchTypes.has(type))) && readDialect(dialect).native_search),
    writeRequest,
    createReader,
    readWhole,
    count: messagesCount,
  }),
} satisfies Wire;
