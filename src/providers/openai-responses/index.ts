import { searchTypes } from '../../domain/items.ts';
import { defineTextWire } from '../text-wire.ts';
import type { Wire } from '../wire.ts';
import { countWhole, createReader, readWhole } from './chunks.ts';
import { readDialect } from './dialect.ts';
import { readError } from './errors.ts';
import { writeRequest } from './request.ts';

/** `POST {base_url}/responses`: the format of the interface itself, at OpenAI, Azure, xAI, LM Studio, vLLM and others. */
export const openaiResponses = {
  id: 'openai-responses',
  reachesGateways: true,
  checkDialect: readDialect,
  authorize: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  readError,
  text: defineTextWire({
    probePath: '/responses',
    carries({ what, type }, dialect) {
      if (what === 'native_search' && type === 'exclude') return false;
      if (what === 'tool' && type === 'mcp') return readDialect(dialect).native_mcp;
      const isSearch = what === 'native_search' || (what === 'tool' && searchTypes.has(type));
      return !isSearch || readDialect(dialect).native_search;
    },
    writeRequest,
    createReader,
    readWhole,
    countWhole,
  }),
} satisfies Wire;
