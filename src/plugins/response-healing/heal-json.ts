import { jsonrepair } from 'jsonrepair';

/**
 * Repairs the syntax of JSON that a model wrote: fences, prose around it, quotes, commas, brackets. Not its schema.
 *
 * @returns the text itself when it parses already, or when nothing helps
 * @see plugins.md section 4
 */
export function healJson(text: string): string {
  if (parses(text)) return text;
  const unfenced = /```(?:json)?\s*\n?([\s\S]*?)\n?```/i.exec(text)?.[1] ?? text;
  for (const candidate of [unfenced.trim(), outermost(unfenced)]) {
    if (candidate === undefined) continue;
    if (parses(candidate)) return candidate;
    try {
      const repaired = jsonrepair(candidate);
      // A sentence is no JSON, though a lenient parser makes a string of it.
      if (/^\s*[[{]/.test(repaired) && /^\s*[[{]/.test(candidate) && parses(repaired)) return repaired;
    } catch {
      // beyond repair this way; the next candidate may do
    }
  }
  return text;
}

/** From the first bracket to its last counterpart; to the end where that is missing. */
function outermost(text: string): string | undefined {
  const start = text.search(/[[{]/);
  if (start === -1) return undefined;
  const end = text.lastIndexOf(text[start] === '{' ? '}' : ']');
  return end > start ? text.slice(start, end + 1) : text.slice(start);
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
