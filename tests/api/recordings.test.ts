import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseObject } from '../../src/domain/response.ts';
import { findRequestFile } from '../../src/exchanges/file-names.ts';
import { readRecordedRequest } from '../../src/exchanges/folder.ts';
import { readRecording } from '../../src/exchanges/recording.ts';
import { textWires } from '../../src/providers/index.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { serveRecordings } from '../../src/testing/serve-recordings.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { ask } from './lab.ts';
import type { Outcome } from './outcome.ts';

/** A wire that responds inside the gateway, itself or through a package, has no exchange to serve. */
const served = [...textWires.values()]
  .filter(({ text, forProvider }) => !text.send && !forProvider)
  .map(({ id }) => id);
const folderOf = (wire: string) => new URL(`../../src/providers/${wire}/recordings/`, import.meta.url);
const all = served.flatMap((wire) =>
  (existsSync(folderOf(wire)) ? readdirSync(folderOf(wire)) : [])
    .filter((file) => file.endsWith('.http'))
    .map((file) => ({ wire, file, ...readRecording(new URL(file, folderOf(wire))) })),
);
type Recorded = (typeof all)[number];

let gateway: TestGateway;
let upstreams: ScriptedUpstream[];
beforeAll(async () => {
  upstreams = await Promise.all(served.map(() => startUpstream()));
  for (const [index, wire] of served.entries()) {
    if (existsSync(folderOf(wire))) {
      upstreams[index]!.always(serveRecordings(folderOf(wire), { sizes: [1, 700, 3, 41, 2000] }));
    }
  }
  const providers = served.map((wire, index) => ({
    id: wire,
    wire,
    base_url: upstreams[index]!.url,
    api_key: 'a-key-of-the-provider',
    models: [{ model: `${wire}/*` }],
  }));
  gateway = await testGateway({ providers });
});
afterAll(async () => {
  await gateway.close();
  await Promise.all(upstreams.map((upstream) => upstream.close()));
});

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
