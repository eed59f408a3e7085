import { type ErrorKind, errorKinds } from '../domain/errors.ts';
import type { Bus, Topic } from '../platform/bus/bus.ts';
import { type AttemptOutcome, type Health, isEndpointFault } from './health.ts';
import type { StickyMemory } from './sticky.ts';

export interface ShareParts {
  health: Health;
  sticky: StickyMemory;
  bus: Pick<Bus, 'publish' | 'subscribe'>;
  now?: () => number;
}

export interface SharedMemory {
  close(): void;
}

/** How long messages are collected before they are published. */
const GATHER_MS = 100;
/** Maximum successes to publish in that time. More of them say nothing new. */
const MAX_SUCCESSES = 200;
/** Maximum sessions and faults to publish in that time. */
const MAX_SESSIONS = 500;
const MAX_FAULTS = 500;

/**
 * Shares the health of endpoints and the endpoints of sessions between processes. A process learns of the others with
 * the delay of the bus. It costs the hot path a push to an array.
 */
export function shareMemory({ health, sticky, bus, now = Date.now }: ShareParts): SharedMemory {
  let outcomes: OutcomeMessage[] = [];
  let sessions: SessionMessage[] = [];
  let successes = 0;
  let faults = 0;
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    timer = undefined;
    for (const session of sessions) bus.publish(stickyTopic, session);
    for (const outcome of outcomes) bus.publish(healthTopic, outcome);
    outcomes = [];
    sessions = [];
    successes = 0;
    faults = 0;
  }
  const schedule = (): void => {
    timer ??= setTimeout(flush, GATHER_MS).unref();
  };

  health.onOutcome = (id, outcome) => {
    const { error } = outcome;
    if (error ? !isMessage(error) || ++faults > MAX_FAULTS : ++successes > MAX_SUCCESSES) return;
    outcomes.push(writeOutcome(id, outcome));
    schedule();
  };
  sticky.onSession = ({ scope, endpoint, model, isExplicit }) => {
    if (sessions.length >= MAX_SESSIONS) return;
    sessions.push([scope, endpoint, model, isExplicit]);
    schedule();
  };

  const subscriptions = [
    bus.subscribe(healthTopic, (message) => health.learn(message[0], toOutcome(message, now()))),
    bus.subscribe(stickyTopic, ([scope, endpoint, model, isExplicit]) =>
      sticky.learn({ scope, endpoint, model, isExplicit }),
    ),
  ];
  return {
    close() {
      for (const unsubscribe of subscriptions) unsubscribe();
      clearTimeout(timer);
      health.onOutcome = undefined;
      sticky.onSession = undefined;
    },
  };
}

type ErrorMessage = readonly [kind: ErrorKind, isRegional: boolean, retryAfterSeconds: number | null];
type OutcomeMessage = readonly [
  id: string,
  error: ErrorMessage | null,
  firstOutputMs: number | null,
  durationMs: number | null,
  outputTokens: number | null,
  toolCalls: AttemptOutcome['toolCalls'] | null,
];
type SessionMessage = readonly [scope: string, endpoint: string, model: string, isExplicit: boolean];

/** Whether other processes need the error: a client's fault says nothing about the endpoint. */
const isMessage = (error: NonNullable<AttemptOutcome['error']>): boolean =>
  isEndpointFault(error) || error.kind === 'rate_limited' || error.retryAfterSeconds !== undefined;

const healthTopic: Topic<OutcomeMessage> = { name: 'health', read: readOutcome };
const stickyTopic: Topic<SessionMessage> = { name: 'sticky', read: readSession };

function writeOutcome(id: string, outcome: AttemptOutcome): OutcomeMessage {
  const { error, firstOutputMs = null, durationMs = null, outputTokens = null, toolCalls = null } = outcome;
  const message: ErrorMessage | null = error ? [error.kind, error.isRegional, error.retryAfterSeconds ?? null] : null;
  return [id, message, firstOutputMs, durationMs, outputTokens, toolCalls];
}

/** @param nowMs the time of receipt, because the clocks of hosts can differ */
function toOutcome(message: OutcomeMessage, nowMs: number): AttemptOutcome {
  const [, error, firstOutputMs, durationMs, outputTokens, toolCalls] = message;
  return {
    atMs: nowMs,
    error: error ? { kind: error[0], isRegional: error[1], retryAfterSeconds: error[2] ?? undefined } : undefined,
    firstOutputMs: firstOutputMs ?? undefined,
    durationMs: durationMs ?? undefined,
    outputTokens: outputTokens ?? undefined,
    ...(toolCalls && { toolCalls }),
  };
}

function readOutcome(message: unknown): OutcomeMessage | undefined {
  if (!Array.isArray(message)) return undefined;
  const [id, error, firstOutputMs, durationMs, outputTokens, toolCalls] = message as unknown[];
  if (typeof id !== 'string') return undefined;
  const read = error === null ? null : readErrorMessage(error);
  if (read === undefined) return undefined;
  const isToolCalls = toolCalls === 'none' || toolCalls === 'sound' || toolCalls === 'broken';
  return [
    id,
    read,
    readNumber(firstOutputMs),
    readNumber(durationMs),
    readNumber(outputTokens),
    isToolCalls ? toolCalls : null,
  ];
}

function readErrorMessage(error: unknown): ErrorMessage | undefined {
  if (!Array.isArray(error)) return undefined;
  const [kind, isRegional, retryAfterSeconds] = error as unknown[];
  if (typeof kind !== 'string' || !Object.hasOwn(errorKinds, kind)) return undefined;
  return [kind as ErrorKind, isRegional === true, readNumber(retryAfterSeconds)]; // it is a key of the table
}

function readSession(message: unknown): SessionMessage | undefined {
  if (!Array.isArray(message)) return undefined;
  const [scope, endpoint, model, isExplicit] = message as unknown[];
  if (typeof scope !== 'string' || typeof endpoint !== 'string' || typeof model !== 'string') return undefined;
  return [scope, endpoint, model, isExplicit === true];
}

const readNumber = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;
