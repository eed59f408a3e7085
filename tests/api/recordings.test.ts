import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseObject } from '../../src/domain/response.ts';
import { findRequestFile } from '../../src/exchanges/file-names.ts';
import { readRecordedRequest } from '../../src/exchanges/folder.ts';
import { readRecording } from '../../src/exchanges/recording.ts';
import { textWires } from '../../src/providers/index.ts';
import type { TestGateway } from '../../src/testing/test-gateway.ts';
import { ask } from './lab.ts';
import { openRecordings, recordingsOf as folderOf } from './open-recordings.ts';
import type { Outcome } from './outcome.ts';

/** A wire that responds inside the gateway, itself or through a package, has no exchange to serve. */
const served = [...textWires.values()]
  .filter(({ text, forProvider }) => !text.send && !forProvider)
  .map(({ id }) => id);
const recordedWires = served.filter((wire) => existsSync(folderOf(wire)));
const all = served.flatMap((wire) =>
  (existsSync(folderOf(wire)) ? readdirSync(folderOf(wire)) : [])
    .filter((file) => file.endsWith('.http'))
    .map((file) => ({ wire, file, ...readRecording(new URL(file, folderOf(wire))) })),
);
type Recorded = (typeof all)[number];

let gateway: TestGateway;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ gateway, close } = await openRecordings(recordedWires, { sizes: [1, 700, 3, 41, 2000] }));
});
afterAll(() => close());

/** The order of events is checked while a stream is read. */
function askFor({ wire, file }: Recorded, mode: 'streamed' | 'buffered'): Promise<Outcome> {
  const asked = readRecordedRequest(findRequestFile(fileURLToPath(new URL(file, folderOf(wire)))));
  return ask(gateway, mode, { ...asked?.request, model: `${wire}/${file.replace(/\.http$/, '')}` });
}

it.each(served)('there are recordings of the wire %s', (wire) => {
  expect(all.filter((recorded) => recorded.wire === wire).length).toBeGreaterThan(3);
});

describe.each(all.filter(({ status }) => status < 300))('$wire, the recorded answer $file', (recorded) => {
  it('is the same buffered as the fold of its stream, or the same failure', async () => {
    const streamed = await askFor(recorded, 'streamed');
    const buffered = await askFor(recorded, 'buffered');
    const last = streamed.response;
    if (last?.status === 'completed' || last?.status === 'incomplete') {
      expect(settled(buffered.response)).toEqual(settled(last));
      return;
    }
    expectEnvelope(buffered);
    // After the start only the event has the status.
    if (last) expect(buffered.envelope!.error.metadata['error_type']).toBe(last['error_type']);
    else expect(envelopeOf(buffered)).toEqual(envelopeOf(expectEnvelope(streamed)));
  });
});

it.each(
  all.filter(({ file }) => file.startsWith('custom-tool.')),
)('$wire, the recorded response $file, is read as the response to its request', async (recorded) => {
  const { response } = await askFor(recorded, 'buffered');
  expect(response?.output.map(({ type }) => type)).toContain('custom_tool_call');
});

describe.each(all.filter(({ status }) => status >= 300))('$wire, the recorded error $file', (recorded) => {
  it.each(['streamed', 'buffered'] as const)('keeps a status that shows the responsible side, %s', async (mode) => {
    const outcome = expectEnvelope(await askFor(recorded, mode));
    expect(statusesFor(recorded.status)).toContain(outcome.status);
    const wait = recorded.headers['retry-after'];
    if (wait === undefined || ![429, 529].includes(outcome.status)) return;
    expect(outcome.headers.get('retry-after')).toBe(wait);
  });
});

/** @see docs/reference/errors.md#who-is-responsible */
function statusesFor(upstream: number): number[] {
  switch (upstream) {
    case 400:
      return [400, 502]; // the request's fault, unless it names our key
    case 404:
      return [404]; // the provider does not have the model: another one may
    case 408:
    case 504:
      return [524];
    case 413:
      return [400, 413];
    case 422:
      return [422];
    case 429:
      return [429];
    case 503:
    case 529:
      return [529];
    default:
      return [502];
  }
}

function expectEnvelope(outcome: Outcome): Outcome {
  expect(outcome.envelope, outcome.text).toMatchObject({
    error: { code: outcome.status, message: expect.stringMatching(/\w/), metadata: { error_type: expect.any(String) } },
  });
  expect(outcome.status).toBeGreaterThanOrEqual(400);
  expect(outcome.text).not.toContain('a-key-of-the-provider');
  return outcome;
}

const envelopeOf = ({ envelope }: Outcome) => envelope?.error;

/** Removes what differs between runs: times, and ids of the gateway, which are replaced by their order. */
function settled(response: ResponseObject | undefined): unknown {
  const seen = new Map<string, string>();
  const text = JSON.stringify({ ...response, created_at: 0, completed_at: 0 });
  return JSON.parse(
    text.replaceAll(/"[a-z]+_[0-9A-Za-z]{24}"/g, (id) => seen.get(id) ?? seen.set(id, `"#${seen.size}"`).get(id)!),
  );
}
