import { afterEach, expect, it } from 'vitest';
import type { ServerTools } from '../../src/pipeline/run/server-tools.ts';
import { modes, openPipelineLab, type PipelineLab, wireNames } from './lab.ts';

/** A counter, which grows. */
const counters = new Set(['producedLength']);

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

/** Guards what is added to a list. */
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

const tools: ServerTools = {
  owns: () => true,
  run: (_run, { toolCalls }) => ({
    items: toolCalls.map(({ callId }) => ({ type: 'function_call_output', call_id: callId, output: 'found' })),
  }),
};

let lab: PipelineLab;
afterEach(() => lab.close());

it.each(
  wireNames.flatMap((wire) => modes.map((mode) => [wire, mode] as const)),
)('no field of a run, a step or an attempt is set twice, through fallbacks and steps: %s, %s', async (wire, mode) => {
  lab = await openPipelineLab(2, {
    tools,
    begin: (inFlight) => ({ underway: inFlight, place: 0, reserved: 0 }),
    preparers: [
      (run) => {
        guard(run, 'run');
        guardList(run.steps, 'step', (step) => guardList(step.attempts, 'attempt'));
        return undefined;
      },
    ],
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

it('the guard of this test finds a field that is set twice', () => {
  const attempt = { status: 200 };
  guard(attempt, 'attempt');
  attempt.status = 500;
  expect(() => {
    attempt.status = 200;
  }).toThrow('attempt.status is set a second time.');
});
