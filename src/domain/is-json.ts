import { parseJson } from './parse-json.ts';

/** Whether a text is valid JSON. */
export function isJson(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
}
