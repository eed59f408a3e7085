import { type ErrorKind, errorKinds } from '../domain/errors.ts';
import { type AttemptOutcome, type Health, isEndpointFault } from './health.ts';
import type { SharedSession, StickyMemory } from './sticky.ts';

export interface ShareParts {
  health: Health;
  sticky: StickyMemory;
  /** Tells all other processes. @see platform/bus/bus.ts */
  publish: (topic: string, message: unknown) => void;
  now?: () => number;
}

export interface SharedMemory {
  /** Takes what another process published; what it does not know it leaves. */
  receive(topic: string, message: unknown): void;
  close(): void;
}

/** How long news gather. */
const GATHER_MS = 100;
/** Answers to tell in that time; more of them say nothing new. */
const MAX_ANSWERS = 200;
/** Sessions, and faults, to tell in that time. */
const MAX_SESSIONS = 500;
const MAX_FAULTS = 500;

/**
 * Makes several processes have one memory of how endpoints do and where sessions went, but for the time that news
 * take. On the way of a request it costs a push to an array.
 */
export function shareMemory({ health, sticky, publish, now = Date.now }: ShareParts): SharedMemory {
  let outcomes: OutcomeMessage[] = [];
  let sessions: SessionMessage[] = [];
  let answers = 0;
  let faults = 0;
  let timer: NodeJS.Timeout | undefined;

  function flush(): void {
    timer = undefined;
    for (const news of sessions) publish('sticky', news);
    for (const news of outcomes) publish('health', news);
    outcomes = [];
    sessions = [];
    answers = 0;
    faults = 0;
  }
  const schedule = (): void => {
    timer ??= setTimeout(flush, GATHER_MS).unref();
  };

  health.onOutcome = (id, outcome) => {
    const { error } = outcome;
    if (error ? !isMessage(error) || ++faults > MAX_FAULTS : ++answers > MAX_ANSWERS) return;
    outcomes.push(writeOutcome(id, outcome));
    schedule();
  };
  sticky.onSession = ({ scope, endpoint, model, isExplicit }) => {
    if (sessions.length >= MAX_SESSIONS) return;
    sessions.push([scope, endpoint, model, isExplicit]);
    schedule();
  };

  return {
    receive(topic, message) {
      if (topic === 'health') {
        const news = readOutcome(message, now());
        if (news) health.learn(...news);
      } else if (topic === 'sticky') {
        const session = readSession(message);
        if (session) sticky.learn(session);
      }
    },
    close() {
      clearTimeout(timer);
      health.onOutcome = undefined;
      sticky.onSession = undefined;
    },
  };
}

type ErrorNews = readonly [kind: ErrorKind, isRegional: boolean, retryAfterSeconds: number | null];
type OutcomeMessage = readonly [
  id: string,
  error: ErrorNews | null,
  firstOutputMs: number | null,
  durationMs: number | null,
  outputTokens: number | null,
  toolCalls: AttemptOutcome['toolCalls'] | null,
];
type SessionMessage = readonly [scope: string, endpoint: string, model: string, isExplicit: boolean];

/** A client's fault is nobody else's business. */
const isMessage = (error: NonNullable<AttemptOutcome['error']>): boolean =>
  isEndpointFault(error) || error.retryAfterSeconds !== undefined;

function writeOutcome(id: string, outcome: AttemptOutcome): OutcomeMessage {
  const { error, firstOutputMs = null, durationMs = null, outputTokens = null, toolCalls = null } = outcome;
  const told: ErrorNews | null = error ? [error.kind, error.isRegional, error.retryAfterSeconds ?? null] : null;
  return [id, told, firstOutputMs, durationMs, outputTokens, toolCalls];
}

/** @param nowMs when it came: clocks of several hosts may disagree */
function readOutcome(message: unknown, nowMs: number): [id: string, AttemptOutcome] | undefined {
  if (!Array.isArray(message)) return undefined;
  const [id, error, firstOutputMs, durationMs, outputTokens, toolCalls] = message as unknown[];
  if (typeof id !== 'string') return undefined;
  const told = error === null ? undefined : readErrorMessage(error);
  if (told === 'unknown') return undefined;
  const outcome: AttemptOutcome = {
    atMs: nowMs,
    error: told,
    firstOutputMs: readNumber(firstOutputMs),
    durationMs: readNumber(durationMs),
    outputTokens: readNumber(outputTokens),
  };
  if (toolCalls === 'none' || toolCalls === 'sound' || toolCalls === 'broken') outcome.toolCalls = toolCalls;
  return [id, outcome];
}

function readErrorMessage(error: unknown): AttemptOutcome['error'] | 'unknown' {
  if (!Array.isArray(error)) return 'unknown';
  const [kind, isRegional, retryAfterSeconds] = error as unknown[];
  if (typeof kind !== 'string' || !Object.hasOwn(errorKinds, kind)) return 'unknown';
  return {
    kind: kind as ErrorKind, // it is a key of the table
    isRegional: isRegional === true,
    retryAfterSeconds: readNumber(retryAfterSeconds),
  };
}

function readSession(message: unknown): SharedSession | undefined {
  if (!Array.isArray(message)) return undefined;
  const [scope, endpoint, model, isExplicit] = message as unknown[];
  if (typeof scope !== 'string' || typeof endpoint !== 'string' || typeof model !== 'string') return undefined;
  return { scope, endpoint, model, isExplicit: isExplicit === true };
}

const readNumber = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;
