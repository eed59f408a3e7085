import OpenAI, { type ClientOptions } from 'openai';
import type { BackEnd } from './back-end.ts';

/** The official client as its users make it, and without its own retries, so that a test sees the first answer. */
export function openaiClient({ gateway }: Pick<BackEnd, 'gateway'>, options: ClientOptions = {}): OpenAI {
  return new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0, ...options });
}
