import type { Caller } from '../domain/caller.ts';
import type { Cancellation } from '../domain/cancellation.ts';
import type { GatewayError } from '../domain/errors.ts';
import type { EncodedImage, ImageRequest } from '../domain/images.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { Origin } from '../domain/origin.ts';
import type { RequestSettings, ResponseRequest } from '../domain/request.ts';
import type { ModelDefault } from '../domain/request-defaults.ts';
import type { StageRecord } from '../domain/router-metadata.ts';
import type { Cost, Usage } from '../domain/usage.ts';
import type { CostReservation } from '../metering/spending.ts';
import type { Digested, ImageAttempt, TextAttempt } from './attempt.ts';
import type { EventBuilder } from './build-events.ts';
import type { ByteShare } from './byte-budget.ts';
import type { Conversation, InputSource } from './conversation.ts';
import type { RunMedia } from './inline-urls.ts';
import { isDispatched, type Step } from './step.ts';

/** What the edge hands over with any request to a model. */
export interface RunOrigin {
  caller: Caller;
  /** Undefined when the gateway itself asks, in the course of a caller's request. */
  origin?: Origin | undefined;
  /** `gen-…`, the id in `X-Generation-Id` and in the ledger. */
  generationId: string;
  /** Comes when the client leaves or the deadline passes. */
  cancellation: Cancellation;
  /** Does the caller want `router_metadata`? */
  metadata: boolean;
  /** Fields that nobody knows, at the top and in plugins; named in the metadata. */
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

/** A run that has served another one. It has a ledger entry of its own. */
export interface InnerRun {
  readonly generationId: string;
  /** What it cost, with the runs that have served it. */
  readonly cost: Cost;
}

/** What the edge hands over with a request for a response. */
export interface RunInput extends RunOrigin {
  /** Belongs to the run from here on, which takes the input out of it. */
  request: ResponseRequest;
  /** Absent: the input cannot be parsed again. */
  source?: InputSource | undefined;
}

/**
 * One request while it is served, whatever it asks for: its origin, its caller, what it asks for and the steps that serve
 * it. Routing, attempts, money and telemetry know no more than this. Every field is set once; what an attempt learns
 * belongs to the attempt.
 */
export interface RunBase extends RunOrigin {
  /** The fields that all requests have. */
  readonly request: {
    readonly model?: string;
    readonly models?: readonly string[];
    readonly session_id?: string;
    readonly stream?: boolean;
  };
  /** Unix milliseconds. */
  readonly startedAtMs: number;
  /** performance.now(): durations do not change when the clock is set. */
  readonly startedAt: number;
  /** Keyed hash of the end user's id. */
  readonly endUser: string | undefined;
  readonly stages: StageRecord[];
  readonly steps: Step[];
  /** Provider names of the request that match nothing here; computed only if the metadata will show them. */
  unknownProviders?: readonly string[] | undefined;
  /** What the run may cost, until it is closed. */
  reservation: CostReservation | undefined;
  /** performance.now() of the first output that the client got. */
  firstOutputAt: number | undefined;
  /** The sum over the model calls whose output was passed on. */
  usage: Usage | undefined;
  /** The sum over all attempts, failed ones included. */
  cost: Cost | undefined;
  /** Runs that have served this one. Only the response adds up what they cost. */
  readonly innerRuns: InnerRun[];
  error: GatewayError | undefined;
  /** Whether it is in the ledger. */
  closed: boolean;
  /** While the entry of a closed run is on its way to disk, where the client must wait for that. */
  recorded?: MaybePromise<void>;
}

/** A model call of a response. */
export type ResponseStep = Step<TextAttempt>;

/** The run of a response. */
export interface Run extends RunBase {
  readonly request: RequestSettings;
  readonly input: Conversation;
  readonly responseId: string;
  readonly steps: ResponseStep[];
  builder: EventBuilder | undefined;
  /** What the addresses in its input led to; undefined if no endpoint needed it. */
  media: RunMedia | undefined;
}

/** Whether the caller's workspace may want to keep what this run was asked and what it returned. */
export const isLogged = ({ caller, origin }: RunBase): boolean =>
  caller.contentSampling !== undefined && origin !== undefined;

/** The run of an image generation. */
export interface ImageRun extends RunBase {
  readonly request: ImageRequest;
  readonly steps: Step<ImageAttempt>[];
  /** In the order of `input_references`, once they are loaded. */
  references: readonly (EncodedImage & Digested)[];
  /** What its response takes of the memory for responses; freed when the last image has been passed on. */
  readonly memory: ByteShare;
  /** Whether the whole response was there. */
  isComplete: boolean;
}

/** Whether a budget or the limits of its models rejected it before anything was sent. */
export const isOverLimit = (run: Pick<RunBase, 'steps' | 'error'>): boolean =>
  !isDispatched(run) && (run.error?.metadata['limit_source'] !== undefined || run.error?.rateLimit !== undefined);

/** What a run asks for, as a whole request. */
export const buildRequest = ({ request, input }: Pick<Run, 'request' | 'input'>): ResponseRequest => ({
  ...request,
  input: input.read(),
});
