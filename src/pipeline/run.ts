import type { Caller } from '../domain/caller.ts';
import type { Cancellation } from '../domain/cancellation.ts';
import type { FinishChunk } from '../domain/chunks.ts';
import type { GatewayError } from '../domain/errors.ts';
import type { ImageFinishChunk, ImageRequest, EncodedImage, ImageCounts } from '../domain/images.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { Origin } from '../domain/origin.ts';
import type { ImageDigest } from '../domain/image-digest.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { ModelDefault } from '../domain/request-defaults.ts';
import type { StageRecord } from '../domain/router-metadata.ts';
import type { Cost, Usage } from '../domain/usage.ts';
import type { InFlightRequest } from '../metering/journal.ts';
import type { CostReservation } from '../metering/spending.ts';
import type { Endpoint } from '../providers/provider-entry.ts';
import type { Excluded, Plan } from '../routing/plan-route.ts';
import type { EventBuilder } from './build-events.ts';
import type { ByteShare } from './byte-budget.ts';
import type { RunMedia } from './inline-urls.ts';
import type { InputSource } from './park-input.ts';
import type { AttemptCost } from './attempt-cost.ts';

/** What the edge hands over with any request to a model. */
export interface RunOrigin {
  caller: Caller;
  /** Undefined when the gateway itself asks, in the course of a caller's request. */
  origin?: Origin;
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
  /** Says of each model before it is asked whether its limit lets the request in. Absent: no model has one. */
  modelLimits?: { enter(model: string): MaybePromise<GatewayError | undefined> } | undefined;
}

/** What the edge hands over with a request for a response. */
export interface RunInput extends RunOrigin {
  request: ResponseRequest;
  /** Undefined when a plugin replaced the input. */
  source: InputSource | undefined;
}

/** One try on an endpoint, as `router_metadata.attempts` shows it. */
export interface AttemptRecord {
  endpoint: Endpoint;
  /** HTTP number; 200 when it answered, or is about to. */
  status: number;
  error?: GatewayError;
  /** performance.now() of dispatch and end, when it failed after it was sent; of the one that answers the run tells. */
  dispatchedAt?: number;
  endedAt?: number;
  /** What it used and cost, when it failed after it had made output. */
  spent?: AttemptCost;
}

/**
 * What is known of one request while it is served, whatever it asks for. Stages write what they learned into it.
 * Routing, attempts, money and telemetry know no more than this.
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
  readonly attempts: AttemptRecord[];
  plan: Plan<Endpoint> | undefined;
  /** Endpoints of the plan that were not asked, since the limit of their model was reached. */
  passedOver?: Excluded<Endpoint>[];
  /** Provider names of the request that mean nobody here; looked for only where the metadata tells of them. */
  unknownProviders?: readonly string[] | undefined;
  /** Which of the provider's keys the last attempt was made with; undefined before it was sent, or without keys. */
  key: number | undefined;
  /** Holds back what the run may cost, until it is booked. */
  reservation: CostReservation | undefined;
  /** The endpoint that answers, once its output has been let through. */
  selected: Endpoint | undefined;
  /** The model that the provider says it ran, where that is another one than was asked for. */
  upstreamModel: string | undefined;
  /** Request fields and upstream fields that went no further. */
  droppedFields: string[];
  /** What the last attempt changed so that its endpoint can do it, in sentences; responses never have any. */
  fitted?: readonly string[];
  droppedUpstreamFields: string[];
  /** performance.now() of dispatch, first visible output and end of the last attempt. */
  dispatchedAt: number | undefined;
  firstOutputAt: number | undefined;
  upstreamEndedAt: number | undefined;
  /** Of the answer alone. */
  usage: Usage | undefined;
  /** Of everything, attempts that failed included. */
  cost: Cost | undefined;
  /** Those of the answer, where its endpoint can make some. */
  pictures?: ImageCounts | undefined;
  error: GatewayError | undefined;
  /** The attempt that went out last, as the ledger knows it. */
  begun: InFlightRequest | undefined;
  /** It is in the ledger. */
  closed: boolean;
}

/** The run of a response. */
export interface Run extends RunBase, RunInput {
  readonly request: ResponseRequest;
  readonly responseId: string;
  /** Do tools come later than in `tools`? */
  hasLateTools: boolean;
  builder: EventBuilder | undefined;
  finish: FinishChunk | undefined;
  /** What the addresses in its parts led to; undefined where no endpoint needed it. */
  media: RunMedia | undefined;
  /** What the last attempt sent: characters of text, tools left out, and pictures. */
  sent: { characters: number; images: number };
  /** What the provider had counted when its answer broke off. */
  counted: Usage | undefined;
}

/** A picture of which the log of contents is to tell. */
interface Digested {
  /** Only where the caller's workspace wants contents kept. */
  digest?: ImageDigest;
}

/** Does anybody want to know what this run was asked and what it answered? */
export const isLogged = ({ caller, origin }: RunBase): boolean =>
  caller.contentSampling !== undefined && origin !== undefined;

/** The run of an image generation. */
export interface ImageRun extends RunBase {
  readonly request: ImageRequest;
  /** In the order of `input_references`, once they are loaded. */
  references: readonly (EncodedImage & Digested)[];
  finish: ImageFinishChunk | undefined;
  /** What its answer takes of the memory for answers; whoever has passed the last picture on frees it. */
  readonly memory: ByteShare;
  /** The sizes of the pictures that were made; undefined where a picture has none. */
  made: (Pick<EncodedImage, 'width' | 'height'> & Digested)[];
  /** All of the answer was there. */
  isComplete: boolean;
}

/** Was it refused by a budget or by limits of its models, before anything went out? */
export const isOverLimit = ({ dispatchedAt, error }: Pick<RunBase, 'dispatchedAt' | 'error'>): boolean =>
  dispatchedAt === undefined && (error?.metadata['limit_source'] !== undefined || error?.rateLimit !== undefined);
