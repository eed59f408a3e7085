import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/schema.ts';
import type { FilterSource } from '../domain/content-filter.ts';
import { createPresidioRecognizer, type PresidioSettings } from '../guardrails/entities/presidio.ts';
import { FilterSets } from '../guardrails/filter-sets.ts';
import type { InputFilterParts } from '../guardrails/inspect-run.ts';
import { createCallService } from '../platform/outbound/call-service.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';

/** The content filters of all callers, and what they share. */
export interface ContentGuardrails extends InputFilterParts {
  /** Compiles the filters of all callers. */
  prepare(sources: readonly (readonly FilterSource[])[]): Promise<void>;
  /** Compiles them for another configuration. @returns what puts them into effect */
  prepareReload(next: Config): Promise<() => void>;
}

/** How often the log repeats that texts were not analyzed. */
const LOG_MS = 60_000;

export function createContentGuardrails(config: () => Config, log: WriteLog): ContentGuardrails {
  let phrases = config().guardrails.injection_allowlist;
  let sets = new FilterSets(phrases);
  let from: Config['guardrails'] | undefined;
  let presidio: PresidioSettings | undefined;
  /** Changes only with the configuration. */
  const readPresidio = (): PresidioSettings | undefined => {
    const { guardrails } = config();
    if (guardrails === from) return presidio;
    const { analyzer_url: url, analyzer_language: language, analyzer_min_score: minScore } = guardrails;
    from = guardrails;
    presidio = url === undefined ? undefined : { url, language, minScore };
    return presidio;
  };
  const recognizer = createPresidioRecognizer(createCallService(), readPresidio);
  let loggedAt = Number.NEGATIVE_INFINITY;
  let count = 0;
  return {
    sets: () => sets,
    entities() {
      const { analyzer_timeout_ms: timeoutMs, analyzer_on_failure } = config().guardrails;
      const rejects = analyzer_on_failure === 'reject';
      return { recognizer: readPresidio() && recognizer, timeoutMs, rejects };
    },
    onSkipped(detail) {
      count++;
      if (performance.now() - loggedAt < LOG_MS) return;
      log('texts not analyzed', { detail, count });
      loggedAt = performance.now();
      count = 0;
    },
    prepare: (sources) => sets.prepare(sources),
    async prepareReload(next) {
      const { injection_allowlist: wanted } = next.guardrails;
      if (isDeepStrictEqual(wanted, phrases)) return () => {};
      const compiled = await sets.withPhrases(wanted);
      return () => {
        phrases = wanted;
        sets = compiled;
      };
    },
  };
}
