import { defineTextWire } from '../text-wire.ts';
import type { Wire } from '../wire.ts';
import { countWhole, createReader, readWhole } from './chunks.ts';
import { readDialect } from './dialect.ts';
import { readError } from './errors.ts';
import { writeRequest } from './request.ts';
import { listLacking } from './tools.ts';

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
      const {
        native_search: searches,
        native_images: draws,
        native_patches: patches,
        native_mcp,
      } = readDialect(dialect);
      if (what === 'native_search') return searches;
      if (what !== 'tool') return true;
      return type === 'mcp' ? native_mcp : !listLacking({ searches, draws, patches }).has(type);
    },
    writeRequest,
    createReader,
    readWhole,
    countWhole,
  }),
} satisfies Wire;
