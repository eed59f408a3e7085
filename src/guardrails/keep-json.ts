import { isJson } from '../domain/is-json.ts';

/** Returns a redacted text. If it was a JSON object or list, it remains JSON, even if a filter has replaced its punctuation. */
export const keepJson = (text: string, redacted: string): string =>
  /^\s*[{[]/.test(text) && isJson(text) && !isJson(redacted) ? JSON.stringify({ redacted }) : redacted;
