import { createOpenAI } from '@ai-sdk/openai';
import type { BackEnd } from './back-end.ts';

globalThis.AI_SDK_LOG_WARNINGS = false; // it warns of what the tests are about

/** A model of the AI SDK as its users make it. */
export function aiModel({ gateway, model }: BackEnd, apiKey = gateway.key) {
  return createOpenAI({ baseURL: gateway.baseUrl, apiKey }).responses(model);
}

/**
 * What a user of the AI SDK has to say once. It takes for granted that items are stored and refers to them by id
 * afterwards; the gateway stores nothing.
 */
export const nothingIsStored = { openai: { store: false } };
