import type { EndpointFacts } from '../domain/endpoint.ts';
import type { ByteBudget } from './images/byte-budget.ts';
import type { ImageCheckParts } from './images/image-check.ts';
import type { ImageRun } from './run/image-run.ts';
import type { PromptInspector } from './run/inspect-input.ts';
import type { ReferenceParts } from './images/load-references.ts';
import type { PipelineBase } from './pipeline.ts';

/** The dependencies of image generations. */
export interface ImagePipeline extends PipelineBase<ImageRun> {
  inspector: PromptInspector;
  /**
   * Checks a prompt for an endpoint that demands moderation. Absent: there is no engine.
   *
   * @throws {GatewayError} `retryable` if the endpoint must not get it
   */
  moderate?: (run: ImageRun, endpoint: EndpointFacts) => Promise<void>;
  references: Pick<ReferenceParts, 'fetchReference' | 'checkReference'>;
  images: Pick<ImageCheckParts, 'fetchImage' | 'checkImage'>;
  limits: () => {
    /** Bytes of one whole response, or of one stream event. */
    answer: number;
    /** Bytes of a reference. */
    reference: number;
    /** Bytes of all references of a request that are fetched. */
    fetched: number;
  };
  /** Memory for responses of all runs together. */
  budget: ByteBudget;
}
