import OpenAI, { type ClientOptions } from 'openai';
import type { BackEnd } from './back-end.ts';

/** Creates the official client as its users do, but without retries, so that a test sees the first response. */
export function openaiClient({ gateway }: Pick<BackEnd, 'gateway'>, options: ClientOptions = {}): OpenAI {
  return new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0, ...options });
}
