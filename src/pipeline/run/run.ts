import type { GatewayError } from '../../domain/errors.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { RequestSettings, ResponseRequest } from '../../domain/request.ts';
import type { StageRecord } from '../../domain/router-metadata.ts';
import type { Media } from '../../platform/outbound/fetch-media.ts';
import type { EventBuilder } from '../events/build-events.ts';
import type { Conversation } from './conversation.ts';
import type { ActivePlugin } from './run-plugins.ts';
import type { RunMoney } from './run-money.ts';
import type { RunOrigin } from './run-origin.ts';
import type { ToolLoop } from './server-tools.ts';
import { isDispatched, type ResponseStep, type Step } from './step.ts';

/**
 * One request in progress, of any kind: its origin, its caller, the request and the steps that serve it. Routing,
 * attempts, costs and telemetry use only these fields. Every field is set once. Facts learned by an attempt belong to
 * the attempt.
 */
export interface RunBase extends RunOrigin, RunMoney {
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
  /** Unknown provider names in the request. Computed only if the metadata will show them. */
  unknownProviders?: readonly string[] | undefined;
  /** performance.now() of the first output to the client. */
  firstOutputAt: number | undefined;
  error: GatewayError | undefined;
  /** Whether a guardrail blocked its input, before anything was planned. */
  isBlocked: boolean;
  /** Whether it has been recorded in the ledger. */
  closed: boolean;
  /** Set while the ledger entry is written to disk, if the client must wait for it. */
  recorded?: MaybePromise<void>;
}

/** The results of a run's fetches so far: the data, or the failure. */
export interface RunMedia {
  budget: { left: number };
  found: Map<string, Media | GatewayError>;
}

/** The run of a response. */
export interface Run extends RunBase {
  readonly request: RequestSettings;
  readonly input: Conversation;
  readonly responseId: string;
  /** Keyed hash of the workspace, for providers if there is no end user. Undefined: they get none. */
  readonly account: string | undefined;
  /** Keyed hash of the session that the client names, for providers that cache by conversation. */
  readonly session: string | undefined;
  /** Whether the client sends reasoning back in the next turn, without a setting for it. */
  readonly returnsReasoning: boolean;
  /** Whether its API has no form for a call of a tool that the client did not offer. */
  readonly onlyOfferedCalls: boolean;
  /** Whether it compacts its conversation. */
  readonly compacts: boolean;
  readonly steps: ResponseStep[];
  builder: EventBuilder | undefined;
  /** The parts of its plugins, in order. Undefined: none acts on it. */
  activePlugins: ActivePlugin[] | undefined;
  /** Its server tools; undefined: it has none. */
  toolLoop: ToolLoop | undefined;
  /** The content of the URLs in its input; undefined if no endpoint needed it. */
  media: RunMedia | undefined;
}

/** Whether the caller's workspace may store the input and output of this run. */
export const isLogged = ({ caller, origin }: RunBase): boolean =>
  caller.contentSampling !== undefined && origin !== undefined;

/** Whether a budget or the limits of its models rejected it before anything was sent or charged. */
export const isOverLimit = (run: Pick<RunBase, 'steps' | 'error' | 'charges'>): boolean =>
  !isDispatched(run) &&
  !run.charges?.some(({ count }) => count > 0) &&
  (run.error?.metadata['limit_source'] !== undefined || run.error?.rateLimit !== undefined);

/** Builds the whole request of a run. */
export const buildRequest = ({ request, input }: Pick<Run, 'request' | 'input'>): ResponseRequest => ({
  ...request,
  input: input.read(),
});
