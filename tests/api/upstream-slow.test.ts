import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type ScriptedResponse,
  throttle,
  json,
  stallAfter,
  stallBeforeHeaders,
} from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import {
  answer,
  type Case,
  cases,
  type Lab,
  openFrames,
  openLab,
  provider,
  stream,
  type WireName,
  wires,
} from './lab.ts';
import { expectBroken, expectFailure, expectText, type Outcome } from './outcome.ts';
import { patient } from '../../src/testing/patience.ts';

const idleMs = patient(300);
const totalMs = patient(900);
/** Each has one timeout, so that a busy machine changes no error. */
const timeouts = {
  late: { first_byte_ms: idleMs },
  hasty: { idle_ms: idleMs },
  paced: { idle_ms: patient(1500) },
  brief: { total_ms: totalMs },
};
let upstream: ScriptedUpstream;
let lab: Pick<Lab, 'ask' | 'close'>;
beforeAll(async () => {
  upstream = await startUpstream();
  const providers = Object.entries(timeouts).flatMap(([name, given]) =>
    wires.map((wire) => provider(wire, name, upstream, { timeouts: given })),
  );
  lab = await openLab({ providers });
});
afterAll(() => Promise.all([lab.close(), upstream.close()]));

/** Sends all kinds of requests concurrently, because each takes time, and waits until the upstream requests are aborted. */
async function inAllWays(
  respond: (how: Case) => ScriptedResponse,
  judge: (outcome: Outcome, how: Case) => void,
  name = 'hasty',
): Promise<void> {
  const before = upstream.requests.length;
  upstream.always((request) => respond(caseOf(request)));
  await Promise.all(
    cases.map(async (how) => {
      const outcome = await lab.ask(how, { model: `${how.wire}/${name}` });
      try {
        judge(outcome, how);
      } catch (error) {
        throw new Error(`${how.wire}, ${how.mode}: ${(error as Error).message}`, { cause: error });
      }
    }),
  );
  for (const request of upstream.requests.slice(before)) expect(await request.closed).toBe('aborted');
}

function caseOf({ path, body }: ScriptedRequest): Case {
  const { stream: isStream } = body as { stream?: boolean };
  const wire = path.endsWith('/responses') ? 'openai-responses' : 'openai-chat';
  return { wire, mode: isStream ? 'streamed' : 'buffered' };
}

const words = (wire: WireName): ScriptedResponse => stream(wire, openFrames(wire, ['Hel', 'lo']), { done: false });

it('returns 524 if the headers do not arrive in time', () =>
  inAllWays(
    () => stallBeforeHeaders(),
    (outcome) => expectFailure(outcome, 524, 'timeout', new RegExp(`sent no response within ${idleMs} ms`)),
    'late',
  ));

it('returns 524 if the provider stops before any output', () =>
  inAllWays(
    (how) => stallAfter(20, answer(how)),
    (outcome) => expectFailure(outcome, 524, 'timeout', new RegExp(`sent nothing for ${idleMs} ms`)),
  ));

it('returns 524 for an endless slow response without output', () =>
  inAllWays(
    () => throttle(json(' '.repeat(10_000)), 1, 20),
    (outcome) => expectFailure(outcome, 524, 'timeout', new RegExp(`longer than ${totalMs} ms in all`)),
    'brief',
  ));

it('interrupts the response if the provider stops after its first words', () =>
  inAllWays(
    ({ wire }) => ({ ...words(wire), end: 'silence' }),
    (outcome, { mode }) => {
      if (mode === 'buffered')
        return void expectFailure(outcome, 524, 'timeout', new RegExp(`sent nothing for ${idleMs} ms`));
      expect(expectBroken(outcome, 'timeout', 'Hello').error?.message).toMatch(
        new RegExp(`sent nothing for ${idleMs} ms`),
      );
    },
  ));

it('interrupts an endless slow response after its first words', () =>
  inAllWays(
    ({ wire }) => stream(wire, dripping(wire)),
    (outcome, { mode }) => {
      if (mode === 'buffered')
        return void expectFailure(outcome, 524, 'timeout', new RegExp(`longer than ${totalMs} ms in all`));
      const { response } = outcome;
      expect(response).toMatchObject({ status: 'failed', error_type: 'timeout' });
      expectBroken(outcome, 'timeout', `Hello${'.'.repeat(textLength(outcome) - 5)}`);
    },
    'brief',
  ));

it('does not interrupt a response whose pauses stay below the limit', async () => {
  upstream.always((request) => throttle(answer(caseOf(request)), 200, 100));
  await Promise.all(
    cases.map(async (how) => expectText(await lab.ask(how, { model: `${how.wire}/paced` }), 'Hello there.')),
  );
});

async function* dripping(wire: WireName): AsyncGenerator<object> {
  yield* openFrames(wire, ['Hel', 'lo']);
  const more = openFrames(wire, ['.']).at(-1)!;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    yield more;
  }
}

const textLength = ({ response }: Outcome): number => {
  const [part] = response?.output[0]?.['content'] as { text: string }[];
  return part!.text.length;
};
