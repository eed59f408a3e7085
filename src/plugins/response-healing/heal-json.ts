import { performance } from 'node:perf_hooks'; // the global is a getter
import { runInNewContext } from 'node:vm';
import { jsonrepair } from 'jsonrepair';

/** Milliseconds that the repairs of one answer may take: some broken texts take the parser the square of their length. */
const MAX_MS = 200;
/** The longest text that no mistake makes slow. */
const SHORT = 4096;

/** Repairs the texts of one answer, as long as there is time. */
export class JsonHealer {
  private leftMs = MAX_MS;

  /**
   * Repairs the syntax of JSON that a model wrote: fences, prose around it, quotes, commas, brackets. Not its schema.
   *
   * @returns the text itself when it parses already, or when nothing helps
   * @see plugins.md section 4
   */
  heal(text: string): string {
    if (parses(text)) return text;
    const unfenced = withoutFence(text);
    for (const candidate of [unfenced.trim(), outermost(unfenced)]) {
      if (candidate === undefined) continue;
      if (parses(candidate)) return candidate;
      const repaired = this.repair(candidate);
      // A sentence is no JSON, though a lenient parser makes a string of it.
      if (repaired !== undefined && /^\s*[[{]/.test(repaired) && /^\s*[[{]/.test(candidate) && parses(repaired)) {
        return repaired;
      }
    }
    return text;
  }

  /** @returns undefined when it is beyond repair this way, or in this time */
  private repair(candidate: string): string | undefined {
    if (this.leftMs < 1) return undefined;
    const startMs = performance.now();
    try {
      if (candidate.length <= SHORT) return jsonrepair(candidate);
      const timeout = Math.ceil(this.leftMs);
      return String(runInNewContext('repair(text)', { repair: jsonrepair, text: candidate }, { timeout }));
    } catch {
      return undefined; // the next candidate may do
    } finally {
      this.leftMs -= performance.now() - startMs;
    }
  }
}

const FENCE = '```';

/** What stands between the first two fences; all of it where there are none. */
function withoutFence(text: string): string {
  const open = text.indexOf(FENCE);
  if (open === -1) return text;
  const named = open + FENCE.length;
  const from = text.slice(named, named + 4).toLowerCase() === 'json' ? named + 4 : named;
  const close = text.indexOf(FENCE, from);
  return close === -1 ? text : text.slice(from, close);
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
