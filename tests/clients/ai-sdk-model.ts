import { createOpenAI } from '@ai-sdk/openai';
import type { BackEnd } from './back-end.ts';

globalThis.AI_SDK_LOG_WARNINGS = false; // it warns about the subjects of the tests

/** Creates a model of the AI SDK as its users do. */
export function aiModel({ gateway, model }: BackEnd, apiKey = gateway.key) {
  return createOpenAI({ baseURL: gateway.baseUrl, apiKey }).responses(model);
}

/**
 * The option that a user of the AI SDK must set. The SDK assumes that items are stored and refers to them by id
 * later; the gateway stores nothing.
 */
export const nothingIsStored = { openai: { store: false } };
