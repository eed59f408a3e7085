import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { array, assert, asyncProperty, constantFrom, integer } from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResponseEvent } from '../../src/domain/events.ts';
import type { ResponseObject } from '../../src/domain/response.ts';
import { nameRequestFile } from '../../src/exchanges/file-names.ts';
import { readRecordedRequest } from '../../src/exchanges/folder.ts';
import { type ScriptedResponse, recording } from '../../src/testing/scripted-responses.ts';
import { type Lab, openLab, type WireName, wireNames } from './lab.ts';
import type { Outcome } from './outcome.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
});
afterAll(() => lab.close());

const folderOf = (wire: WireName): URL => new URL(`../../src/providers/${wire}/recordings/`, import.meta.url);
const all = wireNames.flatMap((wire) => {
  const files = readdirSync(folderOf(wire)).filter((file) => file.endsWith('.stream.http'));
  return files.map((file) => ({ wire, name: file.replace('.stream.http', ''), file }));
});
const pairs = all.filter(
  ({ wire, name }) =>
    name !== 'failed' && name !== 'empty' && readdirSync(folderOf(wire)).includes(`${name}.whole.http`),
);

type Recorded = (typeof all)[number];

async function askFor(
  { wire, name }: Recorded,
  mode: 'buffered' | 'streamed',
  served: ScriptedResponse,
): Promise<Outcome> {
  lab.upstream.always(served);
  const asked = readRecordedRequest(fileURLToPath(new URL(nameRequestFile(name), folderOf(wire))));
  return lab.ask({ wire, mode }, { body: { ...asked?.request, model: `${wire}/patient` } });
}

const served = ({ wire, name }: Recorded, kind: 'stream' | 'whole'): ScriptedResponse =>
  recording(new URL(`${name}.${kind}.http`, folderOf(wire)));

describe.each(pairs)('$wire, the recording $name', (recorded) => {
  it('ends in the same response, streamed or not, for a buffered and a streamed provider', async () => {
    const expected = settled((await askFor(recorded, 'streamed', served(recorded, 'stream'))).response);
    expect(expected).toMatchObject({ status: expect.stringMatching(/^(completed|incomplete)$/) });
    expect(settled((await askFor(recorded, 'buffered', served(recorded, 'whole'))).response)).toEqual(expected);
    expect(settled((await askFor(recorded, 'buffered', served(recorded, 'stream'))).response)).toEqual(expected);
    expect(settled((await askFor(recorded, 'streamed', served(recorded, 'whole'))).response)).toEqual(expected);
  });
});

/** Single bytes, and now and then a large piece: each piece is a write to the connection. */
const everyByte = [...Array.from({ length: 400 }, () => 1), 1500];

describe.each(all)('$wire, the recorded stream $name', (recorded) => {
  it('has the same events for any split by the network', async () => {
    const whole = await askFor(recorded, 'streamed', served(recorded, 'stream'));
    for (const sizes of [everyByte, [3, 1, 4, 90], [17, 5, 290]]) {
      const cut = await askFor(recorded, 'streamed', cutInTurn(served(recorded, 'stream'), sizes));
      expect(cut.status).toBe(whole.status);
      expect(named(cut.events)).toEqual(named(whole.events));
    }
  });
});

it('has the same events for any split of any recording', async () => {
  const known = new Map<Recorded, Outcome>();
  for (const recorded of all) known.set(recorded, await askFor(recorded, 'streamed', served(recorded, 'stream')));
  const sizes = array(integer({ min: 1, max: 2000 }), { minLength: 1, maxLength: 12 });
  await assert(
    asyncProperty(constantFrom(...all), sizes, async (recorded, pieces) => {
      const cut = await askFor(recorded, 'streamed', cutInTurn(served(recorded, 'stream'), pieces));
      expect(named(cut.events)).toEqual(named(known.get(recorded)!.events));
    }),
    { numRuns: 40 },
  );
});

it('never ends like a success, and never with a 500, if a recording stops before its end', async () => {
  const streams = pairs.map((recorded) => ({ recorded, answer: served(recorded, 'stream') }));
  await assert(
    asyncProperty(constantFrom(...streams), integer({ min: 1, max: 90 }), async ({ recorded, answer }, percent) => {
      const length = Math.floor((answer.contentLength! * percent) / 100);
      const outcome = await askFor(recorded, 'streamed', { ...cutInTurn(answer, [length, Infinity]), ...firstOnly });
      if (outcome.status === 200) {
        const { status, output } = outcome.response!;
        // The text may be complete before the usage: then nothing is lost.
        if (status !== 'failed') expect(textLength(output)).toBe(await wholeLength(recorded));
      } else expect(outcome.status).toBe(502);
    }),
    { numRuns: 40 },
  );
});

/** Ends after the first piece, by closing the connection. */
const firstOnly = { end: 'close' } as const;

async function wholeLength(recorded: Recorded): Promise<number> {
  return textLength((await askFor(recorded, 'streamed', served(recorded, 'stream'))).response!.output);
}

const textLength = (output: object): number => JSON.stringify(output).replaceAll(/_[0-9A-Za-z]{24}\b/g, '').length;

/** The body in pieces of these sizes, repeated. */
function cutInTurn(answer: ScriptedResponse, sizes: number[]): ScriptedResponse {
  async function* pieces(): AsyncGenerator<Buffer> {
    const whole: Buffer[] = [];
    for await (const piece of answer.pieces()) whole.push(piece);
    const body = Buffer.concat(whole);
    for (let from = 0, turn = 0; from < body.length; turn++) {
      const to = from + sizes[turn % sizes.length]!;
      yield body.subarray(from, to);
      from = to;
    }
  }
  return { ...answer, contentLength: undefined, pieces, pauseMs: 0 };
}

/** Removes what differs between responses: ids of the gateway, times, and the number of the run. */
function settled(response: ResponseObject | undefined): object {
  return named([{ ...response, created_at: 0, completed_at: null }])[0] as object;
}

/** Replaces ids of the gateway by the order of their first use. */
function named(values: readonly (ResponseEvent | object)[]): unknown[] {
  const seen = new Map<string, string>();
  const text = JSON.stringify(values)
    .replaceAll(/"(created_at|completed_at)":\d+/g, '"$1":0')
    .replaceAll(/"[a-z]+_[0-9A-Za-z]{24}"/g, (id) => seen.get(id) ?? seen.set(id, `"#${seen.size}"`).get(id)!);
  return JSON.parse(text) as unknown[];
}
