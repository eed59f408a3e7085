import type { NativeEnd } from '../../domain/native.ts';
import type { Candidate, GeminiResponse } from './wire.ts';

type Fields = Record<string, unknown>;

/** Fields of a response that the gateway writes itself. */
const ofResponse: ReadonlySet<string> = new Set([
  ...['candidates', 'usageMetadata', 'modelVersion', 'responseId', 'error'],
]);

/** Fields of a candidate that the gateway writes itself. Log probabilities have texts, which a filter may change. */
const ofCandidate: ReadonlySet<string> = new Set(['content', 'finishReason', 'index', 'logprobsResult']);

/** Collects what only the format can say about a response, for a client of the same format. */
export class NativeEnding {
  private readonly response: Fields = {};
  private readonly candidate: Fields = {};
  private readonly citations: unknown[] = [];

  addResponse(response: GeminiResponse): void {
    for (const name in response) if (!ofResponse.has(name) && response[name]) this.response[name] = response[name];
  }

  /** A later value replaces an earlier one. Sources of citations arrive with the text that they belong to. */
  addCandidate(candidate: Candidate): void {
    for (const name in candidate) if (!ofCandidate.has(name) && candidate[name]) this.candidate[name] = candidate[name];
    const { citationSources } = (candidate.citationMetadata ?? {}) as { citationSources?: unknown };
    if (Array.isArray(citationSources)) this.citations.push(...citationSources);
  }

  finish(reason: string, usage: Fields): NativeEnd {
    const citations = this.citations.length > 0 && { citationMetadata: { citationSources: this.citations } };
    return {
      delta: { stop_reason: reason, ...this.candidate, ...citations },
      usage: { ...usage },
      fields: this.response,
    };
  }
}
