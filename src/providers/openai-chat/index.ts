import { defineWire } from '../wire.ts';
import { countWhole, createReader, readWhole } from './chunks.ts';
import { readDialect } from './dialect.ts';
import { readError } from './errors.ts';
import { chatImages } from './images/index.ts';
import { writeRequest } from './request.ts';

/** Any server of `/chat/completions`: OpenAI, Groq, DeepSeek, Mistral, Together, vLLM, Ollama, llama.cpp and many more. */
export const openaiChat = defineWire({
  id: 'openai-chat',
  probePath: '/chat/completions',
  checkDialect: readDialect,
  authorize: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  writeRequest,
  createReader,
  readWhole,
  countWhole,
  readError,
  image: chatImages,
});
