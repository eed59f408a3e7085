import { performance } from 'node:perf_hooks'; // the global is a getter
import { runInNewContext } from 'node:vm';
import { jsonrepair } from 'jsonrepair';
import { parseJson } from '../../domain/parse-json.ts';

/** Milliseconds that the repairs of one response may take. The parser needs quadratic time for some malformed texts. */
const MAX_MS = 200;
/** Maximum length of a text that is fast to repair, regardless of its errors. */
const SHORT = 4096;

/** Repairs the texts of one response while there is time. */
export class JsonHealer {
  private leftMs: number;

  /** @param maxMs of all repairs together */
  constructor(maxMs = MAX_MS) {
    this.leftMs = maxMs;
  }

  /**
   * Repairs the syntax of JSON from a model: fences, surrounding prose, quotes, commas, brackets. It does not repair
   * the schema.
   *
   * @returns the same text if it is valid already, or if it cannot be repaired
   * @see docs/reference/plugins.md
   */
  heal(text: string): string {
    if (parses(text)) return text;
    const unfenced = withoutFence(text);
    for (const candidate of [unfenced.trim(), outermost(unfenced)]) {
      if (candidate === undefined) continue;
      if (parses(candidate)) return candidate;
      const repaired = this.repair(candidate);
      // A sentence is not JSON, though a lenient parser turns it into a string.
      if (repaired !== undefined && /^\s*[[{]/.test(repaired) && /^\s*[[{]/.test(candidate) && parses(repaired)) {
        return repaired;
      }
    }
    return text;
  }

  /** @returns undefined if it cannot be repaired this way, or in time */
  private repair(candidate: string): string | undefined {
    if (this.leftMs < 1) return undefined;
    const startMs = performance.now();
    try {
      if (candidate.length <= SHORT) return jsonrepair(candidate);
      const timeout = Math.ceil(this.leftMs);
      return String(runInNewContext('repair(text)', { repair: jsonrepair, text: candidate }, { timeout }));
    } catch {
      return undefined; // the next candidate may work
    } finally {
      this.leftMs -= performance.now() - startMs;
    }
  }
}

const FENCE = '```';

/** The text between the first two fences. Without fences, the whole text. */
function withoutFence(text: string): string {
  const open = text.indexOf(FENCE);
  if (open === -1) return text;
  const named = open + FENCE.length;
  const from = text.slice(named, named + 4).toLowerCase() === 'json' ? named + 4 : named;
  const close = text.indexOf(FENCE, from);
  return close === -1 ? text : text.slice(from, close);
}

/** From the first bracket to its last counterpart, or to the end if that is missing. */
function outermost(text: string): string | undefined {
  const start = text.search(/[[{]/);
  if (start === -1) return undefined;
  const end = text.lastIndexOf(text[start] === '{' ? '}' : ']');
  return end > start ? text.slice(start, end + 1) : text.slice(start);
}

function parses(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
}
