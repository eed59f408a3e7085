import type { OutputItem } from '../../domain/items.ts';
import type { RequestSettings } from '../../domain/request.ts';
import type { InFlightRequest } from '../../metering/journal.ts';
import type { Endpoint } from '../../providers/provider.ts';
import type { Excluded, Plan } from '../../routing/plan-route.ts';
import type { RunMoney } from './run-money.ts';
import type { Attempt, TextAttempt } from './attempt.ts';

/** A call of a server tool, which the gateway runs itself. */
export interface ToolCall {
  readonly callId: string;
  readonly name: string;
  /** As the model wrote it. It may be invalid JSON. */
  readonly arguments: string;
  /** The call as it appears in the input of the next step. */
  readonly item: OutputItem;
  /** Number of items of the response before it. */
  readonly index: number;
}

/** One model call: its plan, and the attempts to make it. Created for the call, and never reset. */
export interface Step<A extends Attempt = Attempt> {
  /** Has no endpoints if all were excluded. The run has then failed. */
  readonly plan: Plan<Endpoint>;
  /** From 0. */
  readonly number: number;
  /** Number of output items before it. Set before it begins. */
  firstItem: number;
  /** Settings of the request that are different in this step. */
  readonly settings: Partial<RequestSettings> | undefined;
  readonly attempts: A[];
  /** Endpoints of the plan that were skipped, because the limit of their model was reached. */
  readonly skipped: Excluded<Endpoint>[];
  /** The attempt whose output is passed on. No other attempt can replace it, even if it fails. */
  committed: A | undefined;
  /** Calls of server tools that the committed attempt ended with. */
  readonly toolCalls: ToolCall[];
}

/** A model call of a response. */
export type ResponseStep = Step<TextAttempt>;

/** A step that has ended with calls. */
export interface CallingStep extends Pick<Step, 'number' | 'toolCalls'> {
  readonly committed: { readonly endpoint: Pick<Endpoint, 'model' | 'capabilities'> } | undefined;
}

/** Anything that consists of steps: a run, or an observer's view of it. */
interface Steps<A> {
  readonly steps: readonly { readonly attempts: readonly A[]; readonly committed: A | undefined }[];
}

/** @param after absent: the first step */
export const createStep = <A extends Attempt>(
  plan: Plan<Endpoint>,
  after?: Partial<Pick<Step, 'number' | 'firstItem' | 'settings'>>,
): Step<A> => ({
  plan,
  number: after?.number ?? 0,
  firstItem: after?.firstItem ?? 0,
  settings: after?.settings,
  attempts: [],
  skipped: [],
  committed: undefined,
  toolCalls: [],
});

/** All attempts of a run, in order. */
export const attemptsOf = <A>({ steps }: Steps<A>): readonly A[] =>
  steps.length === 1 ? steps[0]!.attempts : steps.flatMap(({ attempts }) => attempts);

/** The last attempt. Undefined before the first one. */
export const lastAttemptOf = <A>({ steps }: Steps<A>): A | undefined =>
  steps.findLast(({ attempts }) => attempts.length > 0)?.attempts.at(-1);

/** The attempt that the last model call of a run takes its output from; undefined if there is none. */
export const committedOf = <A>({ steps }: Steps<A>): A | undefined => steps.at(-1)?.committed;

/** The last journal line of a run: of the attempt that was sent last, or of a charge or a turn after it. Undefined: none. */
export function lastBegunOf(run: Steps<Attempt> & Pick<RunMoney, 'begunBetween'>): InFlightRequest | undefined {
  const between = run.begunBetween?.at(-1);
  if (between && between.attemptsBefore === countBegun(run)) return between.begun;
  return attemptsOf(run).findLast(({ begun }) => begun !== undefined)?.begun;
}

/** Number of attempts with a journal line. */
export const countBegun = (run: Steps<Attempt>): number =>
  attemptsOf(run).filter(({ begun }) => begun !== undefined).length;

/** Whether anything was sent to a provider. */
export const isDispatched = (run: Steps<Pick<Attempt, 'dispatchedAt'>>): boolean =>
  run.steps.some(({ attempts }) => attempts.some(({ dispatchedAt }) => dispatchedAt !== undefined));
