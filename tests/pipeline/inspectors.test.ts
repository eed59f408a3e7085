import { afterEach, describe, expect, it } from 'vitest';
import { Cancellation } from '../../src/domain/cancellation.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import type { InputItem } from '../../src/domain/items.ts';
import type { MaybePromise } from '../../src/domain/maybe-promise.ts';
import { pass, type Verdict } from '../../src/domain/verdict.ts';
import type { Inspector } from '../../src/pipeline/run/inspect-input.ts';
import { openPipelineLab, type PipelineLab } from './lab.ts';

const blocked = new GatewayError('permission_denied', 'The input is blocked.');
const redacted: InputItem[] = [{ type: 'message', role: 'user', content: 'What is the [redacted]?' }];

let lab: PipelineLab;
afterEach(() => lab.close());
const open = async (...inspectors: Inspector[]) => {
  lab = await openPipelineLab(1, { inspectors });
  lab.script('openai-chat', 0, { text: 'Hello.' });
};
const sent = () => lab.upstreams[0]!.requests.map(({ text }) => text);

/** The same verdict, immediate and delayed. */
const ways: [string, (verdict: Verdict) => MaybePromise<Verdict>][] = [
  ['at once', (verdict) => verdict],
  ['later', (verdict) => new Promise((resolve) => setImmediate(resolve, verdict))],
];

describe.each(ways)('an inspector that decides %s', (_when, decide) => {
  it('lets an input pass', async () => {
    await open(
      () => decide(pass),
      () => decide(pass),
    );
    const { response } = await lab.respond('openai-chat', 'buffered');

    expect(response).toMatchObject({ status: 'completed' });
    expect(sent()).toEqual([expect.stringContaining('What is the weather?')]);
  });

  it('blocks one before anything is sent, and plans only what its metadata shows', async () => {
    await open(
      () => decide({ type: 'block', error: blocked }),
      () => expect.unreachable(),
    );
    const { error, run } = await lab.respond('openai-chat', 'streamed');

    expect(error).toBe(blocked);
    expect(run.steps).toMatchObject([{ plan: { requested: 'acme/one' }, attempts: [], committed: undefined }]);
    expect(run.reservation).toBeUndefined();
    expect(sent()).toEqual([]);
    expect(lab.entries).toMatchObject([{ outcome: 'failed', status: 403, costNanoUsd: 0n }]);
  });

  it('replaces one, for later inspectors and for the provider', async () => {
    const seen: InputItem[][] = [];
    await open(
      () => decide({ type: 'replace', change: { input: redacted } }),
      (run) => {
        seen.push(run.input.read());
        return pass;
      },
    );
    await lab.respond('openai-chat', 'buffered');

    expect(seen).toEqual([redacted]);
    expect(sent()).toEqual([expect.stringContaining('[redacted]')]);
    expect(sent()[0]).not.toContain('weather');
  });
});

it('an inspector sees the caller', async () => {
  await open(({ caller }) => (caller.memberId === 'ada' ? { type: 'block', error: blocked } : pass));
  const { error } = await lab.respond('openai-chat', 'buffered');
  expect(error).toBe(blocked);
});

it('an inspector that cannot decide fails the run', async () => {
  await open(() => Promise.reject(new GatewayError('unavailable', 'The model of the guardrail does not answer.')));
  const { error } = await lab.respond('openai-chat', 'buffered');
  expect(error).toMatchObject({ status: 503 });
  expect(sent()).toEqual([]);
});

it('a client that disconnects while an inspector works ends the run', async () => {
  const cancellation = new Cancellation();
  const left = new GatewayError('client_closed', 'The client disconnected.');
  await open(async () => {
    cancellation.cancel(left);
    return pass;
  });
  const { error } = await lab.respond('openai-chat', 'streamed', {}, cancellation);
  expect(error).toBe(left);
  expect(sent()).toEqual([]);
  expect(lab.entries).toMatchObject([{ outcome: 'cancelled' }]);
});

it('a plugin may take its time, and change the input', async () => {
  lab = await openPipelineLab(1, {
    plugins: [
      {
        id: 'redact',
        async prepare(run) {
          run.input.replace(redacted);
          return undefined;
        },
      },
    ],
  });
  lab.script('openai-chat', 0, { text: 'Hello.' });
  const { response } = await lab.respond('openai-chat', 'buffered');

  expect(response).toMatchObject({ status: 'completed' });
  expect(sent()).toEqual([expect.stringContaining('[redacted]')]);
});
