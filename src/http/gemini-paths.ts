import type { IncomingHttpHeaders } from 'node:http';

/** The path of the older version of the Gemini API. The newer one is `/api/v1`. */
export const GEMINI_BASE = '/api/v1beta';

const geminiPath = /^\/api\/v1(?:beta\/|\/(?:models|tunedModels)(?:[/?]|$))/;

/** Reads the key in the query of a request of the Gemini API. No log has the query. */
export function readQueryKey(url: string): string | undefined {
  const start = url.indexOf('?');
  if (start === -1 || !geminiPath.test(url)) return undefined;
  return new URLSearchParams(url.slice(start)).get('key') || undefined;
}

/** Whether a client of Google sends a request: it expects models and errors of its API. */
export const isGeminiClient = (headers: IncomingHttpHeaders): boolean => headers['x-goog-api-client'] !== undefined;
