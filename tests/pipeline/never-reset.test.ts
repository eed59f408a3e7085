import { afterEach, expect, it } from 'vitest';
import type { Run } from '../../src/pipeline/run/run.ts';
import { json } from '../../src/testing/scripted-responses.ts';
import { chatResponse } from '../clients/chat-responses.ts';
import { modes, openPipelineLab, type PipelineLab, serverToolsOf, wireNames } from './lab.ts';

/** A counter, which grows. */
const counters = new Set(['producedTokens']);

/** Lets each field of an object change once after its creation. */
function guard(object: object, name: string): void {
  for (const [field, initial] of Object.entries(object)) {
    let value: unknown = initial;
    let isSet = false;
    Object.defineProperty(object, field, {
      get: () => value,
      set(next: unknown) {
        if (isSet && !counters.has(field)) throw new Error(`${name}.${field} is set a second time.`);
        isSet = true;
        value = next;
      },
    });
  }
}

/** Guards the objects that are added to a list. */
function guardList<Item extends object>(list: Item[], name: string, more: (item: Item) => void = () => {}): void {
  const push = list.push.bind(list);
  list.push = (...items) => {
    for (const item of items) {
      guard(item, name);
      more(item);
    }
    return push(...items);
  };
}

const tools = serverToolsOf({
  run: ({ toolCalls }) => ({
    items: toolCalls.map(({ callId }) => ({ type: 'function_call_output', call_id: callId, output: 'found' })),
  }),
});

/** Guards a run and everything that is added to it. */
const guardRun = (run: Run): undefined => {
  guard(run, 'run');
  guardList(run.steps, 'step', (step) => guardList(step.attempts, 'attempt'));
};

let lab: PipelineLab;
afterEach(() => lab.close());

it.each(
  wireNames.flatMap((wire) => modes.map((mode) => [wire, mode] as const)),
)('no field of a run, a step or an attempt is set twice, through fallbacks and steps: %s, %s', async (wire, mode) => {
  lab = await openPipelineLab(2, {
    tools,
    begin: (inFlight) => ({ inFlight, place: 0, reserved: 0 }),
    plugins: [{ id: 'guard', prepare: guardRun }],
  });
  const busy = { fail: { status: 503, message: 'Busy.' } };
  lab.script(wire, 0, busy, { text: 'Found.' });
  lab.script(wire, 1, { text: 'Looking.', calls: [{ name: 'lookup', input: { q: 'a' } }] }, busy);
  const { error, response, run } = await lab.respond(wire, mode, {
    tools: [{ type: 'function', name: 'lookup', parameters: {} }],
  });

  expect(error).toBeUndefined();
  expect(response).toMatchObject({ status: 'completed' });
  expect(run.steps.map(({ attempts }) => attempts.map(({ error: failure }) => failure?.kind))).toEqual([
    ['upstream_overloaded', undefined],
    ['upstream_overloaded', undefined],
  ]);
});

it.each(modes)('no field of a run is set twice if the provider runs all of its tools: %s', async (mode) => {
  const never = (): never => {
    throw new Error('No tool of this run is the gateway’s.');
  };
  lab = await openPipelineLab(1, {
    tools: serverToolsOf({ choose: () => false, prepare: never, resume: never, run: never }),
    plugins: [{ id: 'guard', prepare: guardRun }],
  });
  lab.script('openai-chat', 0, { text: 'Found.' });
  const { error, response, run } = await lab.respond('openai-chat', mode);

  expect(error).toBeUndefined();
  expect(response).toMatchObject({ status: 'completed' });
  expect(run.toolLoop).toBeUndefined();
});

it.each(modes)('no field of an attempt is set twice if the server has another wire: %s', async (mode) => {
  let lines = 0;
  lab = await openPipelineLab(
    1,
    {
      begin: (inFlight, before) => ({ inFlight, place: before ? before.place + 1 : 0, reserved: ++lines }),
      plugins: [{ id: 'guard', prepare: guardRun }],
    },
    ['openai-chat'],
  );
  lab.upstreams[0]!.always((request) => {
    if (request.path.endsWith('/responses')) return json({ detail: 'Not Found' }, { status: 404 });
    if (request.text === '{}') return json({ error: { message: 'model is required' } }, { status: 400 });
    return chatResponse({ text: 'Found.' }, request);
  });
  const { error, response, run } = await lab.respond('openai-responses', mode);

  expect(error).toBeUndefined();
  expect(response).toMatchObject({ status: 'completed' });
  const [first, second] = run.steps[0]!.attempts;
  expect(run.steps[0]!.attempts).toHaveLength(2);
  expect(first).toMatchObject({ status: 502, key: 0, isLast: false, isRetry: false, spent: undefined });
  expect(first!.wire.id).toBe('openai-responses');
  expect(second).toMatchObject({ status: 200, key: 0, isLast: true, isRetry: false, error: undefined });
  expect(second!.wire.id).toBe('openai-chat');
  expect(second!.dispatchedAt).toBeGreaterThanOrEqual(first!.endedAt!);
  expect([first!.begun, second!.begun]).toMatchObject([{ place: 0 }, { place: 1 }]);
  expect(run.steps[0]!.committed).toBe(second);
  expect(lab.entries).toMatchObject([{ outcome: 'completed', endpointId: 'acme/one@server-0' }]);
  expect(lab.entries[0]!.lines).toBeUndefined();
});

it('the guard of this test finds a field that is set twice', () => {
  const attempt = { status: 200 };
  guard(attempt, 'attempt');
  attempt.status = 500;
  expect(() => {
    attempt.status = 200;
  }).toThrow('attempt.status is set a second time.');
});
