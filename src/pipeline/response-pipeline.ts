import type { CheckedText, JsonOutputFormat } from '../domain/json-format.ts';
import type { SummarySeal } from '../domain/compaction.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { RunPlugin } from '../domain/plugin.ts';
import type { Reviser } from '../domain/reviser.ts';
import type { MediaSource } from './attempts/inline-urls.ts';
import type { Inspector } from './run/inspect-input.ts';
import type { PipelineBase } from './pipeline.ts';
import type { Run } from './run/run.ts';
import type { ServerTools } from './run/server-tools.ts';

/** The dependencies of responses. */
export interface ResponsePipeline extends PipelineBase<Run> {
  /** Classifies a conversation with a model. Absent, or undefined: keywords decide. @see findTask */
  findTask?: (run: Run) => Promise<string | undefined> | undefined;
  /** Inspect the input, in order. The first that blocks it ends the run. */
  inspectors: readonly Inspector[];
  /** Act on the runs that name or need them, in order. */
  plugins: readonly RunPlugin<Run>[];
  /** Returns the reviser that sees the output last, after those of plugins. Absent, or undefined: there is none. */
  guardOutput?: (run: Run) => MaybePromise<Reviser<Run> | undefined>;
  /** Seals the summaries of runs that compact their conversation. Absent: they stay messages. */
  summaries?: Pick<SummarySeal, 'seal'>;
  /**
   * Adds tokens to the reserved input of a planned run; a promise only if the cost is reserved in another process.
   *
   * @throws {GatewayError} if the cost exceeds a spending limit
   */
  reserveInput?: (run: Run, tokens: number) => MaybePromise<void>;
  /** Absent: the client runs every call. */
  tools?: ServerTools;
  /** The largest whole response, or single stream event, that is read from a provider, in bytes. */
  upstreamBodyLimit: () => number;
  /** Whether an attempt is repeated without a parameter that the provider has refused. */
  learnsRules: () => boolean;
  /** Repairs and checks a text whose format the provider does not enforce. Absent: nothing is checked. */
  checkFormat?: (run: Run, text: string, format: JsonOutputFormat) => Promise<CheckedText>;
  /** For endpoints that accept no URLs. Absent: nothing is fetched. */
  media?: () => MediaSource;
}
