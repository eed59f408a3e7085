import { randomUUID } from 'node:crypto';
import { type Tags, writeTags } from '../../domain/tags.ts';
import type { AgentEvent, AgentInteraction, InteractionReply, RunRequest } from '../agent/events.ts';
import { AgentError } from './agent-client.ts';
import { readPersonReply } from './read-person-reply.ts';
import { RunError } from './run-error.ts';
import type { RunningIntern } from './running-intern.ts';
import { type RuntimeParts, runtimeTimes } from './runtime-parts.ts';

/** Events of a run without a reader that are kept. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;
/** Answered and expired questions that are remembered. */
const MAX_REMEMBERED = 200;
const CONTROL_MS = 10_000;
/** Time for the last events of an agent that has ended. */
const LAST_EVENTS_MS = 500;
/** Maximum messages and answers that are being sent to the agent. Each has processes in the sandbox. */
const MAX_CALLS = 8;

/** Receives a run. */
export interface RunReader {
  event(event: AgentEvent): void;
  /** The run has ended without the event `end`. */
  failed(error: RunError): void;
}

export interface NewRun {
  sessionId: string;
  input: string;
  mode: 'self-drive' | 'manual';
  /** Those of its model calls. Absent: none. */
  tags?: Tags | undefined;
  /** Ends the run. */
  deadlineMs: number;
  reader: RunReader | undefined;
}

export interface StartedRun {
  /** Rejects if the agent does not take the run. */
  accepted: Promise<void>;
  /** The client has disconnected. */
  detach(): void;
}

/** A run in progress. */
interface OpenRun {
  id: string;
  sessionId: string;
  cancellation: AbortController;
  reader: RunReader | undefined;
  /** Events that no reader has received. */
  kept: AgentEvent[];
  keptBytes: number;
  pending: { interaction: AgentInteraction; timer: NodeJS.Timeout } | undefined;
  deadline: NodeJS.Timeout;
  isOver: boolean;
  /** Why it ended without the event `end`. */
  failure: RunError | undefined;
}

/** The runs of one intern: one at a time. */
export class InternRuns {
  private readonly running: RunningIntern;
  private readonly interactionMs: number;
  private current: OpenRun | undefined;
  /** Questions that can no longer be answered, with the reason. */
  private readonly settled = new Map<string, 'interaction_not_pending' | 'attachment_failed'>();
  private calls = 0;

  constructor(running: RunningIntern, { times }: Pick<RuntimeParts, 'times'>) {
    this.running = running;
    this.interactionMs = { ...runtimeTimes, ...times }.interactionMs;
  }

  get isBusy(): boolean {
    return this.current !== undefined;
  }

  /** @throws {RunError} `busy` if a run is in progress */
  start({ sessionId, input, mode, tags, deadlineMs, reader }: NewRun): StartedRun {
    if (this.current)
      throw new RunError('busy', 'The intern is working on another message. Try again later.', { retryable: true });
    const run: OpenRun = {
      id: randomUUID(),
      sessionId,
      cancellation: new AbortController(),
      reader,
      kept: [],
      keptBytes: 0,
      pending: undefined,
      isOver: false,
      failure: undefined,
      deadline: setTimeout(
        () => this.endRun(run, new RunError('run_ended', 'The run took too long and was ended.')),
        deadlineMs,
      ),
    };
    run.deadline.unref();
    this.current = run;
    const accepted = Promise.withResolvers<void>();
    accepted.promise.catch(() => {}); // its reader has the error, too
    void this.follow(run, accepted, {
      run_id: run.id,
      session_id: sessionId,
      input,
      approval_mode: mode,
      ...(tags && { tags: writeTags(tags) }),
    });
    return { accepted: accepted.promise, detach: () => this.detach(run, reader) };
  }

  /**
   * Adds a message to the run of its session.
   *
   * @returns false if there is none
   * @throws {RunError} `busy` if another session has a run
   */
  async steer(sessionId: string | undefined, text: string): Promise<boolean> {
    const { current } = this;
    if (!current) return false;
    if (
      current.sessionId === sessionId &&
      this.calls < MAX_CALLS &&
      (await this.call((signal) => this.running.agent.steer(current.id, text, signal)))
    )
      return true;
    if (this.current !== current) return false;
    throw new RunError('busy', 'The intern is working on another message. Try again later.', { retryable: true });
  }

  /** Answers a question, and reads the rest of its run. @throws {RunError} */
  async answer(
    interactionId: string,
    sessionId: string,
    content: string,
    reader: RunReader,
  ): Promise<{ detach: () => void }> {
    const { current } = this;
    const pending = current?.pending;
    if (!current || !pending || pending.interaction.id !== interactionId || current.sessionId !== sessionId) {
      const problem = this.settled.get(`${sessionId}\n${interactionId}`);
      if (problem === 'attachment_failed') throw createLostOutputError();
      if (problem) throw new RunError(problem, 'The question was answered before, or its run has ended.');
      if (current && !pending)
        throw new RunError('busy', 'The intern is working. Try again later.', { retryable: true });
      throw new RunError('interaction_unknown', 'The intern has not asked this question in this session.');
    }
    const answer: InteractionReply = readPersonReply(pending.interaction, content);
    clearTimeout(pending.timer);
    current.pending = undefined;
    this.remember(current, interactionId, 'interaction_not_pending');
    try {
      const isTaken = await this.call((signal) => this.running.agent.answer(current.id, interactionId, answer, signal));
      if (!isTaken) {
        throw new RunError('interaction_not_pending', 'The agent no longer waits for this answer.');
      }
    } catch (error) {
      this.endRun(current, explainFailure(error)); // no client could answer again
      throw error;
    }
    this.attach(current, reader);
    return { detach: () => this.detach(current, reader) };
  }

  /** Ends the run because its agent has ended. Events that it wrote before still arrive, and then the end of its stream. */
  fail(): void {
    const { current } = this;
    if (current) setTimeout(() => this.endRun(current, createSeveredError()), LAST_EVENTS_MS).unref();
  }

  close(): void {
    const { current } = this;
    if (current) this.endRun(current, new RunError('run_ended', 'The intern was stopped.'));
  }

  /** The client has disconnected: a run that streams is cancelled, a run that waits for an answer continues. */
  private detach(run: OpenRun, reader: RunReader | undefined): void {
    if (run.isOver || run.reader !== reader || !reader) return;
    run.reader = undefined;
    if (!run.pending) this.endRun(run, new RunError('run_ended', 'The client has disconnected.'));
  }

  private async follow(run: OpenRun, accepted: PromiseWithResolvers<void>, request: RunRequest): Promise<void> {
    let isAccepted = false;
    try {
      let end: AgentEvent | undefined;
      const events = await this.running.agent.openRun(request, run.cancellation.signal);
      isAccepted = true;
      accepted.resolve();
      for await (const event of events) {
        if (run.isOver) return;
        if (event.type === 'end') end = event;
        else this.pass(run, event);
      }
      if (!end) throw new AgentError('unreachable', 'The agent ended the run without a result.');
      this.finish(run);
      this.deliver(run, end);
    } catch (error) {
      const failure = explainFailure(error);
      accepted.reject(failure);
      this.endRun(run, isAccepted && failure.problem === 'intern_unreachable' ? createSeveredError(error) : failure);
    } finally {
      void this.running.save().catch(() => {}); // reported by `save`
    }
  }

  private pass(run: OpenRun, event: AgentEvent): void {
    if (event.type === 'interaction') {
      const { interaction } = event;
      if (run.pending)
        throw new AgentError('rejected', 'The agent asked a second question before the first was answered.');
      // choice 683
      const expire = (): void => {
        this.endRun(run, new RunError('run_ended', 'The question was not answered in time.'));
      };
      run.pending = { interaction, timer: setTimeout(expire, this.interactionMs).unref() };
    }
    this.deliver(run, event);
  }

  private deliver(run: OpenRun, event: AgentEvent): void {
    if (run.reader) {
      run.reader.event(event);
      if (event.type === 'interaction') run.reader = undefined;
      return;
    }
    run.kept.push(event);
    run.keptBytes += JSON.stringify(event).length;
    if (run.keptBytes > MAX_KEPT_BYTES) {
      this.endRun(run, createLostOutputError());
    }
  }

  /** Gives a new reader what came before it, and what follows. */
  private attach(run: OpenRun, reader: RunReader): void {
    run.reader = reader;
    run.keptBytes = 0;
    for (const event of run.kept.splice(0)) this.deliver(run, event);
    if (run.failure) run.reader?.failed(run.failure);
  }

  private finish(run: OpenRun): void {
    run.isOver = true;
    clearTimeout(run.deadline);
    clearTimeout(run.pending?.timer);
    run.pending = undefined;
    if (this.current === run) this.current = undefined;
  }

  private endRun(run: OpenRun, error: RunError): void {
    if (run.isOver) return;
    if (run.pending) {
      const problem = error.problem === 'attachment_failed' ? error.problem : 'interaction_not_pending';
      this.remember(run, run.pending.interaction.id, problem);
    }
    this.finish(run);
    run.failure = error;
    run.cancellation.abort(error);
    run.reader?.failed(error);
  }

  private remember(
    run: OpenRun,
    interactionId: string,
    problem: 'interaction_not_pending' | 'attachment_failed',
  ): void {
    this.settled.set(`${run.sessionId}\n${interactionId}`, problem);
    const [oldest] = this.settled.keys();
    if (this.settled.size > MAX_REMEMBERED) this.settled.delete(oldest!);
  }

  private async call<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    this.calls++;
    try {
      return await work(AbortSignal.timeout(CONTROL_MS));
    } catch (error) {
      throw explainFailure(error);
    } finally {
      this.calls--;
    }
  }
}

const createLostOutputError = (): RunError =>
  new RunError(
    'attachment_failed',
    'The run was ended, because it produced too much output while no client was connected.',
  );

const createSeveredError = (cause?: unknown): RunError =>
  new RunError('stream_severed', 'The agent of the intern ended during the run.', { retryable: true, cause });

function explainFailure(error: unknown): RunError {
  if (error instanceof RunError) return error;
  if (error instanceof AgentError && error.problem === 'rejected') {
    return new RunError('intern_rejected', error.message, { cause: error });
  }
  if (error instanceof AgentError)
    return new RunError('intern_unreachable', error.message, { retryable: true, cause: error });
  return new RunError('intern_unreachable', 'The agent of the intern cannot be reached.', {
    retryable: true,
    cause: error,
  });
}
