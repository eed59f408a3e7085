import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Cancellation } from '../../src/domain/cancellation.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import type { ResponseEvent } from '../../src/domain/events.ts';
import type { ResponseRequest } from '../../src/domain/request.ts';
import { EventFold } from '../../src/pipeline/events/fold-events.ts';
import { type InnerRequest, respond } from '../../src/pipeline/respond.ts';
import { MAX_DEPTH } from '../../src/pipeline/run/inner-origin.ts';
import type { Run } from '../../src/pipeline/run/run.ts';
import { checkEvents } from '../api/check-events.ts';
import { defaultCounts } from '../clients/turn.ts';
import { model, openPipelineLab, type PipelineLab } from './lab.ts';

/** The usage of one turn. A million input tokens cost 1 USD, a million output tokens 10 USD. */
const turnNanoUsd = BigInt(defaultCounts.input * 1000 + defaultCounts.output * 10_000);
const question = (): ResponseRequest => ({
  model,
  input: [{ type: 'message', role: 'user', content: 'Which task?' }],
  plugins: [{ id: 'inner' }],
});

let lab: PipelineLab;
/** Runs before each run of a caller is planned. */
let serve: ((parent: Run) => Promise<unknown>) | undefined;
beforeEach(async () => {
  serve = undefined;
  lab = await openPipelineLab(1, {
    plugins: [
      {
        id: 'inner',
        async prepare(run) {
          if (!run.parent) await serve?.(run);
          return undefined;
        },
      },
    ],
  });
});
afterEach(() => lab.close());

const inner = (parent: Run, parts: Partial<InnerRequest> = {}, sink = new EventFold()) =>
  respond(lab.pipeline, { request: question(), timeoutMs: 60_000, parent, ...parts }, sink);

describe('an inner run', () => {
  it('has the tags of its parent', async () => {
    serve = (parent) => {
      parent.tags = { team: 'search' };
      return inner(parent);
    };
    lab.script('openai-chat', 0, { text: 'weather' }, { text: 'Sunny.' });
    await lab.respond('openai-chat', 'buffered');
    expect(lab.entries.map(({ tags }) => tags)).toEqual([{ team: 'search' }, { team: 'search' }]);
  });

  it('has its own entry, which names its parent; only the response of the parent adds both costs', async () => {
    serve = (parent) => inner(parent);
    lab.script('openai-chat', 0, { text: 'weather' }, { text: 'Sunny.' });
    const { response } = await lab.respond('openai-chat', 'buffered');

    expect(response).toMatchObject({
      output: [{ content: [{ text: 'Sunny.' }] }],
      usage: { input_tokens: defaultCounts.input, cost: Number(2n * turnNanoUsd) / 1e9 },
    });
    expect(lab.entries).toMatchObject([
      { parentId: 'gen-1', costNanoUsd: turnNanoUsd, memberId: 'ada', workspaceId: 'w' },
      { id: 'gen-1', costNanoUsd: turnNanoUsd },
    ]);
    expect(lab.entries[1]).not.toHaveProperty('parentId');
  });

  it('streams its events to a sink', async () => {
    const events: ResponseEvent[] = [];
    const sink = { write: (batch: ResponseEvent[]) => void events.push(...batch) };
    serve = (parent) =>
      respond(lab.pipeline, { request: { ...question(), stream: true }, timeoutMs: 60_000, parent }, sink);
    lab.script('openai-chat', 0, { text: 'one two three' }, { text: 'Sunny.' });
    await lab.respond('openai-chat', 'buffered');

    checkEvents(events);
    expect(events.filter(({ type }) => type === 'response.output_text.delta')).toHaveLength(3);
  });

  it('counts its failures for the parent, which continues', async () => {
    serve = (parent) => inner(parent).catch(() => undefined);
    lab.script('openai-chat', 0, { fail: { status: 400, message: 'No.' } }, { text: 'Sunny.' });
    const { response } = await lab.respond('openai-chat', 'buffered');

    expect(response).toMatchObject({ status: 'completed', usage: { cost: Number(turnNanoUsd) / 1e9 } });
    expect(lab.entries).toMatchObject([
      { parentId: 'gen-1', outcome: 'failed', costNanoUsd: 0n },
      { outcome: 'completed' },
    ]);
  });

  it('adds up its attempts', async () => {
    let innermost: Run | undefined;
    serve = async (parent) => {
      const before = lab.pipeline.plugins;
      lab.pipeline.plugins = [
        {
          id: 'inner',
          async prepare(run) {
            if (run.parent?.depth === 1) await inner(run);
            if (run.parent?.depth === 2) innermost = run;
            return undefined;
          },
        },
      ];
      await inner(parent);
      lab.pipeline.plugins = before;
    };
    lab.script('openai-chat', 0, { text: 'a' }, { text: 'b' }, { text: 'c' });
    const { response } = await lab.respond('openai-chat', 'buffered');

    expect(response!.usage).toMatchObject({ cost: Number(3n * turnNanoUsd) / 1e9 });
    expect(lab.entries.map(({ costNanoUsd }) => costNanoUsd)).toEqual([turnNanoUsd, turnNanoUsd, turnNanoUsd]);
    expect(lab.entries[0]!.parentId).toBe(lab.entries[1]!.id);
    expect(innermost!.parent).toMatchObject({ depth: 2 });
  });

  it('is nested to a maximum depth', async () => {
    serve = (parent) => inner({ ...parent, parent: { generationId: 'gen-0', depth: MAX_DEPTH, isInspected: true } });
    const { error } = await lab.respond('openai-chat', 'buffered');
    expect(error).toMatchObject({ status: 422 });
    expect(lab.upstreams[0]!.requests).toEqual([]);
  });

  it('ends at its deadline', async () => {
    let failure: unknown;
    serve = (parent) =>
      inner(parent, { timeoutMs: 1000 }).catch((error: unknown) => {
        failure = error;
      });
    lab.script('openai-chat', 0, { text: 'late', after: 'silence' }, { text: 'Sunny.' });
    const { response } = await lab.respond('openai-chat', 'buffered');

    expect(failure).toMatchObject({ kind: 'request_timeout' });
    expect(response).toMatchObject({ status: 'completed' });
  });

  it('ends with its parent, also if the parent was canceled before', async () => {
    const cancellation = new Cancellation();
    const left = new GatewayError('client_closed', 'The client disconnected.');
    serve = (parent) => {
      cancellation.cancel(left);
      return inner(parent);
    };
    const { error } = await lab.respond('openai-chat', 'buffered', {}, cancellation);

    expect(error).toBe(left);
    expect(lab.upstreams[0]!.requests).toEqual([]);
  });

  it('is admitted by the limits of its models, and counts its usage for them', async () => {
    const calls: string[] = [];
    const limits = (id: string) => ({
      enter: (name: string) => void calls.push(`${id} enters ${name}`),
      end: (tokens: number, isTakenBack: boolean) => void calls.push(`${id} ends ${tokens} ${isTakenBack}`),
      openInner: () => limits('inner'),
    });
    serve = (parent) => inner({ ...parent, modelLimits: limits('outer') });
    lab.script('openai-chat', 0, { text: 'weather' }, { text: 'Sunny.' });
    await lab.respond('openai-chat', 'buffered');

    expect(calls).toEqual([`inner enters ${model}`, `inner ends ${defaultCounts.input + defaultCounts.output} false`]);
  });
});
