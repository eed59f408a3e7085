import { aiSdk } from './ai-sdk/index.ts';
import { anthropicMessages } from './anthropic-messages/index.ts';
import { gemini } from './gemini/index.ts';
import { openaiChat } from './openai-chat/index.ts';
import { openaiResponses } from './openai-responses/index.ts';
import type { Wire } from './provider.ts';
import { simulator } from './simulator/index.ts';

/** Every wire of this build, by the name the configuration uses. A new wire is a folder and a line here. */
export const wires: ReadonlyMap<string, Wire> = new Map(
  [openaiResponses, openaiChat, anthropicMessages, gemini, aiSdk, simulator].map((wire) => [wire.id, wire]),
);
