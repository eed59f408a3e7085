import { defineWire } from '../wire.ts';
import { countWhole, createReader, readWhole } from './chunks.ts';
import { readDialect } from './dialect.ts';
import { readError } from './errors.ts';
import { writeRequest } from './request.ts';

/** `POST {base_url}/responses`: the format of the interface itself, at OpenAI, Azure, xAI, LM Studio, vLLM and others. */
export const openaiResponses = defineWire({
  id: 'openai-responses',
  probePath: '/responses',
  checkDialect: readDialect,
  carries: () => true,
  authorize: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  writeRequest,
  createReader,
  readWhole,
  countWhole,
  readError,
});
