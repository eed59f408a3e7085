import type { JsonOrigin } from './exact-numbers.ts';
import { parseJson } from './parse-json.ts';

/** @returns undefined if the text is not a JSON object */
export function parseObject(text: string, origin?: JsonOrigin): Record<string, unknown> | undefined {
  try {
    const value = parseJson(text, undefined, origin);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
