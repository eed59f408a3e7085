import { afterEach, describe, expect, it } from 'vitest';
import { Cancellation } from '../../src/domain/cancellation.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import type { InputItem } from '../../src/domain/items.ts';
import type { MaybePromise } from '../../src/domain/maybe-promise.ts';
import { pass, type Verdict } from '../../src/domain/verdict.ts';
import type { RunPlugin } from '../../src/domain/plugin.ts';
import type { Inspector } from '../../src/pipeline/run/inspect-input.ts';
import type { Run } from '../../src/pipeline/run/run.ts';
import { openPipelineLab, type PipelineLab, serverToolsOf } from './lab.ts';

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

describe('an inspector of items that are added to an input', () => {
  const secret: InputItem = { type: 'message', role: 'user', content: 'The code is 1234.' };
  const hidden: InputItem = { ...secret, content: 'The code is hidden.' };
  const hide: Inspector = (_run, added) => {
    if (!added) return pass;
    return { type: 'replace', change: { input: added.map((item) => (item === secret ? hidden : item)) } };
  };
  const forbid: Inspector = (_run, added) => (added ? { type: 'block', error: blocked } : pass);
  const preparing: RunPlugin<Run> = {
    id: 'adds',
    prepare: ({ input }) => void input.replace([...input.read(), secret]),
  };
  const adapting: RunPlugin<Run> = {
    id: 'adds',
    prepare: () => ({ adapt: (request) => ({ ...request, input: [...request.input, secret] }) }),
  };
  const keeping: RunPlugin<Run> = { id: 'adds', prepare: ({ input }) => void input.replace([...input.read()]) };
  const plugins = [{ id: 'adds' }];

  it.each([
    ['before the route is planned', preparing],
    ['for an endpoint', adapting],
  ])('changes what a plugin adds %s, or blocks it', async (_when, plugin) => {
    lab = await openPipelineLab(1, { inspectors: [hide], plugins: [plugin] });
    lab.script('openai-chat', 0, { text: 'Hello.' });
    await lab.respond('openai-chat', 'buffered', { plugins });
    expect(sent()[0]).toContain('What is the weather?');
    expect(sent()[0]).toContain('The code is hidden.');
    expect(sent()[0]).not.toContain('1234');
    await lab.close();

    lab = await openPipelineLab(2, { inspectors: [forbid], plugins: [plugin] });
    const { error } = await lab.respond('openai-chat', 'streamed', { plugins });
    expect(error).toMatchObject({ status: 403, message: blocked.message });
    expect(lab.upstreams.flatMap(({ requests }) => requests)).toEqual([]);
  });

  it('is not asked if a plugin adds nothing', async () => {
    lab = await openPipelineLab(1, { inspectors: [forbid], plugins: [keeping] });
    lab.script('openai-chat', 0, { text: 'Hello.' });
    const { response } = await lab.respond('openai-chat', 'buffered', { plugins });
    expect(response).toMatchObject({ status: 'completed' });
  });

  const tools = serverToolsOf({
    owns: () => true,
    run: ({ toolCalls }) => ({
      items: toolCalls.map(({ callId }) => ({
        type: 'function_call_output',
        call_id: callId,
        output: 'The code is 1234.',
      })),
    }),
  });
  const request = { tools: [{ type: 'function' as const, name: 'lookup', parameters: {} }] };
  const call = { calls: [{ name: 'lookup', input: {} }] };

  it('changes the results of tools, or blocks them', async () => {
    const redact: Inspector = (_run, added) => {
      if (!added) return pass;
      const input = added.map((item) => (item.type === 'function_call_output' ? { ...item, output: 'hidden' } : item));
      return { type: 'replace', change: { input: input as InputItem[] } };
    };
    lab = await openPipelineLab(1, { inspectors: [redact], tools });
    lab.script('openai-chat', 0, call, { text: 'Done.' });
    await lab.respond('openai-chat', 'buffered', request);
    expect(sent()[1]).toContain('hidden');
    expect(sent()[1]).not.toContain('1234');
    await lab.close();

    lab = await openPipelineLab(1, { inspectors: [forbid], tools });
    lab.script('openai-chat', 0, call);
    const { error, run } = await lab.respond('openai-chat', 'buffered', request);
    expect(error ?? run.error).toMatchObject({ status: 403, message: blocked.message });
    expect(sent()).toHaveLength(1);
  });
});
