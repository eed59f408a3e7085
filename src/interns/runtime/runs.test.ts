import { describe, expect, it, vi } from 'vitest';
import type { AgentEvent } from '../agent/events.ts';
import { AgentError } from './agent-client.ts';
import { readAgentEvent } from './read-agent-event.ts';
import type { RunError } from './run-error.ts';
import { InternRuns, type RunReader } from './runs.ts';
import type { RunningIntern } from './running-intern.ts';

/** An agent whose events a test sends. */
function createRuns(interactionMs = 60_000) {
  let emit: (event: AgentEvent) => void = () => {};
  let sever: () => void = () => {};
  const answers: unknown[] = [];
  const agent = {
    async openRun(_: unknown, signal: AbortSignal) {
      let next = Promise.withResolvers<AgentEvent>();
      emit = (event) => next.resolve(event);
      sever = () => next.reject(new AgentError('unreachable', 'The connection was reset.'));
      const stopped = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      stopped.catch(() => {});
      return (async function* () {
        for (;;) {
          const event = await Promise.race([next.promise, stopped]);
          next = Promise.withResolvers();
          yield event;
          if (event.type === 'end') return;
        }
      })();
    },
    steer: async () => true,
    answer: async (...given: unknown[]) => (isDeaf ? Promise.reject(new Error('closed')) : answers.push(given[2]) > 0),
  };
  let isDeaf = false;
  const running = { agent, save: async () => {} } as unknown as RunningIntern; // what runs use of it
  const runs = new InternRuns(running, { times: { interactionMs } });
  const events: AgentEvent[] = [];
  const failures: RunError[] = [];
  const reader: RunReader = { event: (event) => void events.push(event), failed: (error) => void failures.push(error) };
  const start = async () => {
    const run = runs.start({ sessionId: 's', input: 'a', mode: 'manual', deadlineMs: 60_000, reader });
    await run.accepted;
    return run;
  };
  return {
    runs,
    events,
    failures,
    answers,
    start,
    reader,
    emit: (event: AgentEvent) => emit(event),
    sever: () => sever(),
    ignoreAnswers: () => (isDeaf = true),
  };
}

const question: AgentEvent = {
  type: 'interaction',
  interaction: { id: 'q', kind: 'permission', operation: 'shell: ls', options: ['allow_once', 'reject_once'] },
};

describe('the runs of an intern', () => {
  it('are one at a time', async () => {
    const { runs, start } = createRuns();
    await start();
    await expect(start()).rejects.toMatchObject({ problem: 'busy', retryable: true });
    expect(await runs.steer('s', 'more')).toBe(true);
    await expect(runs.steer('other', 'more')).rejects.toMatchObject({ problem: 'busy' });
    runs.close();
    expect(runs.isBusy).toBe(false);
  });

  it('take a limited number of messages at the same time', async () => {
    const { runs, start } = createRuns();
    await start();
    const steered = await Promise.allSettled(Array.from({ length: 20 }, () => runs.steer('s', 'more')));
    expect(steered.filter(({ status }) => status === 'fulfilled')).toHaveLength(8);
    expect(await runs.steer('s', 'later')).toBe(true);
    runs.close();
  });

  it('end if a question is not answered in time, which is then not pending any more', async () => {
    const { runs, start, emit, reader } = createRuns(10);
    await start();
    emit(question);
    await vi.waitFor(() => expect(runs.isBusy).toBe(false));
    await expect(runs.answer('q', 's', 'allow_once', reader)).rejects.toMatchObject({
      problem: 'interaction_not_pending',
    });
  });

  it('wait for an answer after the client has disconnected, and keep what comes before the next one', async () => {
    const { runs, start, emit, events, answers, reader } = createRuns();
    const { detach } = await start();
    emit(question);
    await vi.waitFor(() => expect(events).toHaveLength(1));
    detach();
    expect(runs.isBusy).toBe(true);
    await expect(runs.answer('q', 's', 'allow_always', reader)).rejects.toMatchObject({ problem: 'bad_request' });
    await expect(runs.answer('x', 's', 'allow_once', reader)).rejects.toMatchObject({ problem: 'interaction_unknown' });
    await runs.answer('q', 's', 'allow_once', reader);
    expect(answers).toEqual(['allow_once']);
    emit({ type: 'text', text: 'b' });
    await vi.waitFor(() => expect(events.at(-1)).toEqual({ type: 'text', text: 'b' }));
    emit({ type: 'end', status: 'completed' });
    await vi.waitFor(() => expect(runs.isBusy).toBe(false));
  });

  it('are cancelled when the client disconnects during the stream, and when the agent ends', async () => {
    const first = createRuns();
    (await first.start()).detach();
    expect(first.runs.isBusy).toBe(false);
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const second = createRuns();
    await second.start();
    second.runs.fail();
    second.emit({ type: 'text', text: 'last' }); // written before the end of the agent, and read after it
    await vi.advanceTimersByTimeAsync(499);
    expect([second.events, second.failures]).toEqual([[{ type: 'text', text: 'last' }], []]);
    vi.advanceTimersByTime(1);
    expect(second.failures).toMatchObject([{ problem: 'stream_severed', retryable: true }]);
    vi.useRealTimers();
    const third = createRuns();
    await third.start();
    third.sever(); // the connection ends before the end of the process is noticed
    await vi.waitFor(() => expect(third.failures).toMatchObject([{ problem: 'stream_severed', retryable: true }]));
  });

  it('end when the agent asks two questions at once, or an answer does not reach it', async () => {
    const twice = createRuns();
    await twice.start();
    twice.emit(question);
    await vi.waitFor(() => expect(twice.events).toHaveLength(1));
    twice.emit({ ...question });
    await vi.waitFor(() => expect(twice.runs.isBusy).toBe(false));

    const deaf = createRuns();
    await deaf.start();
    deaf.emit(question);
    await vi.waitFor(() => expect(deaf.events).toHaveLength(1));
    deaf.ignoreAnswers();
    await expect(deaf.runs.answer('q', 's', 'allow_once', deaf.reader)).rejects.toMatchObject({
      problem: 'intern_unreachable',
    });
    expect(deaf.runs.isBusy).toBe(false);
  });
});

describe('an event of an agent', () => {
  it('is read if it has the shape of its type', () => {
    const ended = { type: 'end', status: 'failed', error: { message: 'no' }, more: 1 };
    for (const event of [question, ended, { type: 'text', text: '' }]) {
      expect(readAgentEvent(JSON.stringify(event))).toEqual(event);
    }
    expect(readAgentEvent('{"type": "of a newer contract"}')).toBeUndefined();
    expect(readAgentEvent('{"type": "toString"}')).toBeUndefined();
  });

  it.each([
    'no JSON',
    'null',
    '[]',
    '{"type": 1}',
    '{"type": "text"}',
    '{"type": "text", "text": {}}',
    '{"type": "model", "model": 1}',
    '{"type": "interaction"}',
    '{"type": "interaction", "interaction": {"id": "q", "kind": "permission", "operation": null}}',
    '{"type": "interaction", "interaction": {"id": "", "kind": "elicitation", "message": "", "fields": []}}',
    `{"type": "interaction", "interaction": {"id": "${'q'.repeat(129)}", "kind": "elicitation", "message": "", "fields": []}}`,
    '{"type": "interaction", "interaction": {"id": "q", "kind": "elicitation", "message": "", "fields": [null]}}',
    '{"type": "end", "status": "failed"}',
    '{"type": "end", "status": "completed", "usage": {"input_tokens": "1"}}',
  ])('is rejected otherwise: %s', (line) => {
    expect(() => readAgentEvent(line)).toThrow();
  });
});
