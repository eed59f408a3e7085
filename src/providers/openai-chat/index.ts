import { defineTextWire } from '../text-wire.ts';
import type { Wire } from '../wire.ts';
import { countWhole, createReader, readWhole } from './chunks.ts';
import { readDialect } from './dialect.ts';
import { readUpstreamError as readError } from '../errors/upstream-error.ts';
import { chatImages } from './images/index.ts';
import { writeRequest } from './request.ts';

/** Any server of `/chat/completions`: OpenAI, Groq, DeepSeek, Mistral, Together, vLLM, Ollama, llama.cpp and many more. */
export const openaiChat = {
  id: 'openai-chat',
  checkDialect: readDialect,
  authorize: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  readError,
  text: defineTextWire({
    probePath: '/chat/completions',
    carries: ({ type }) => type.startsWith('chat:'),
    writeRequest,
    createReader,
    readWhole,
    countWhole,
  }),
  image: chatImages,
} satisfies Wire;
