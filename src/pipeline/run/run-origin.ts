import type { Caller } from '../../domain/caller.ts';
import type { Cancellation } from '../../domain/cancellation.ts';
import type { GatewayError } from '../../domain/errors.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Origin } from '../../domain/origin.ts';
import type { UsedPreset } from '../../domain/preset.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { ModelDefault } from '../../domain/request-defaults.ts';
import type { Tags } from '../../domain/tags.ts';
import type { InputSource } from './conversation.ts';

/** The facts about a request that the edge passes to its run. */
export interface RunOrigin {
  caller: Caller;
  /** Undefined if the gateway itself makes the request, to serve a caller's request. */
  origin?: Origin | undefined;
  /** `gen-…`, the id in `X-Generation-Id` and in the ledger. */
  generationId: string;
  /** Cancelled when the client disconnects or the deadline passes. */
  cancellation: Cancellation;
  /** Whether the caller wants `router_metadata`. */
  metadata: boolean;
  /** Whether the caller wants events with the output of commands. Absent: no. */
  showsToolOutput?: boolean | undefined;
  /** Whether tools send only events of the format, and none of their own. Absent: no. */
  hasStandardEvents?: boolean | undefined;
  /** Unknown fields, at the top and in plugins; named in the metadata. */
  ignoredFields: readonly string[];
  /** Changes of values to fit a limit, in sentences. */
  clamped: readonly string[];
  /** The setting that named the model; undefined: the request did. */
  modelDefault?: ModelDefault | undefined;
  /** The preset that was merged into the request. Undefined: none. */
  preset?: UsedPreset | undefined;
  /** Ids of the plugins that settings of the workspace turned on or changed. Undefined: none. */
  pluginDefaults?: readonly string[] | undefined;
  /** Admits the run to each model before it is called. Absent: no model has a limit. */
  modelLimits?: ModelLimits | undefined;
  /** The run that this one serves: the gateway itself makes the request. Absent: a caller makes it. */
  parent?: ParentRun | undefined;
  /** Absent: it has none. */
  tags?: Tags | undefined;
  /** The memory of the request, until its response is complete. Absent: not counted. */
  memory?: RequestMemory | undefined;
  /** Types of the server tools that it serves. It cannot use them, so that a tool does not call itself. Absent: none. */
  servedTools?: readonly string[] | undefined;
}

/** The memory that the bodies of all requests share. */
export interface RequestMemory {
  /** @throws {GatewayError} `rate_limited` if other requests take the memory */
  add(bytes: number): void;
}

/** The rate limits of models, as they apply to one run. */
export interface ModelLimits {
  /** @returns why the model must not be called now; a promise only if it is counted in another process */
  enter(model: string): MaybePromise<GatewayError | undefined>;
  /**
   * @param estimateTokens estimates its input and output
   * @returns the limits for a run that serves this one
   */
  openInner(generationId: string, estimateTokens: () => number): InnerLimits;
}

export interface InnerLimits extends ModelLimits {
  /** @param tokens that the inner run used @param isTakenBack it was rejected before it was sent, and does not count */
  end(tokens: number, isTakenBack: boolean): void;
}

/** The run that an inner run serves. */
export interface ParentRun {
  readonly generationId: string;
  /** 1 for a run that serves a caller's. */
  readonly depth: number;
  /** Whether the input consists of texts that guardrails have inspected in the run that it serves. */
  readonly isInspected: boolean;
}

/** The input of `createRun`. */
export interface RunInput extends RunOrigin {
  /** The run takes it over and moves the input out of it. */
  request: ResponseRequest;
  /** Whether the client sends reasoning back in the next turn, without a setting for it. Absent: it has the setting. */
  returnsReasoning?: boolean | undefined;
  /** Whether the API has no form for a call of a tool that the client did not offer. Absent: no. */
  onlyOfferedCalls?: boolean | undefined;
  /** Absent: the input cannot be parsed again. */
  source?: InputSource | undefined;
}
