import { claudeProviders } from './providers/anthropic.ts';
import { chinaProviders } from './providers/china.ts';
import { geminiProviders } from './providers/gemini.ts';
import { hostedProviders } from './providers/hosted.ts';
import { localProviders } from './providers/local.ts';
import { messagesServers } from './providers/messages-servers.ts';
import { mistral } from './providers/mistral.ts';
import { openaiProviders } from './providers/openai.ts';
import type { StrictProvider } from './strict-provider.ts';

export { type ChatShape, type ChatDescription, strictChat } from './chat.ts';
export { type GeminiDescription, strictGemini } from './gemini.ts';
export { type MessagesShape, type MessagesDescription, strictMessages } from './messages.ts';
export { type ResponsesDescription, strictResponses } from './responses.ts';
export type { StrictRules } from './rules.ts';
export {
  type ResponseParts,
  type RunningStrictProvider,
  startStrictProvider,
  type StrictProvider,
} from './strict-provider.ts';
export { type Envelope, envelopes, type Refusal, type Words } from './words.ts';

/** All strict providers. */
export const strictProviders: readonly StrictProvider[] = [
  ...openaiProviders,
  ...claudeProviders,
  ...geminiProviders,
  mistral,
  ...chinaProviders,
  ...hostedProviders,
  ...localProviders,
  ...messagesServers,
];
