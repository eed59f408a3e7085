import type { Caller } from '../../domain/caller.ts';
import type { Cancellation } from '../../domain/cancellation.ts';
import type { GatewayError } from '../../domain/errors.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Origin } from '../../domain/origin.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { ModelDefault } from '../../domain/request-defaults.ts';
import type { InputSource } from './conversation.ts';

/** What the edge hands over with any request to a model. */
export interface RunOrigin {
  caller: Caller;
  /** Undefined if the gateway itself makes the request, to serve that of a caller. */
  origin?: Origin | undefined;
  /** `gen-…`, the id in `X-Generation-Id` and in the ledger. */
  generationId: string;
  /** Comes when the client disconnects or the deadline passes. */
  cancellation: Cancellation;
  /** Whether the caller wants `router_metadata`. */
  metadata: boolean;
  /** Unknown fields, at the top and in plugins; named in the metadata. */
  ignoredFields: readonly string[];
  /** What was changed to fit a limit, in sentences. */
  clamped: readonly string[];
  /** The setting that named the model; undefined: the request did. */
  modelDefault?: ModelDefault | undefined;
  /** Admits the run to each model before it is called. Absent: no model has a limit. */
  modelLimits?: ModelLimits | undefined;
  /** The run that this one serves: the gateway itself makes the request. Absent: a caller makes it. */
  parent?: ParentRun | undefined;
}

/** The rate limits of models, as they apply to one run. */
export interface ModelLimits {
  /** @returns why the model must not be called now; a promise only if it is counted elsewhere */
  enter(model: string): MaybePromise<GatewayError | undefined>;
  /** @returns the limits for a run that serves this one */
  openInner(generationId: string): InnerLimits;
}

export interface InnerLimits extends ModelLimits {
  /** @param tokens that the inner run used @param isTakenBack it was rejected before it was sent, and does not count */
  end(tokens: number, isTakenBack: boolean): void;
}

/** What an inner run knows of the run that it serves. */
export interface ParentRun {
  readonly generationId: string;
  /** 1 for a run that serves a caller's. */
  readonly depth: number;
}

/** What the edge hands over with a request for a response. */
export interface RunInput extends RunOrigin {
  /** Belongs to the run from here on, which takes the input out of it. */
  request: ResponseRequest;
  /** Absent: the input cannot be parsed again. */
  source?: InputSource | undefined;
}
