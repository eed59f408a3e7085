import { readdirSync } from 'node:fs';
import { anything, assert, asyncProperty, constantFrom, nat } from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isFull } from '../../src/testing/full.ts';
import { json, sse } from '../../src/testing/scripted-responses.ts';
import { readRecording } from '../../src/testing/replay.ts';
import type { StreamedResponse } from '../../src/testing/test-gateway.ts';
import { cases, type Lab, openLab, type WireName, wires } from './lab.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
});
afterAll(() => lab.close());

const read = (wire: WireName, file: string): string =>
  readRecording(new URL(`../../src/providers/${wire}/recordings/${file}`, import.meta.url)).body.toString();
const files = (wire: WireName, kind: string): string[] =>
  readdirSync(new URL(`../../src/providers/${wire}/recordings/`, import.meta.url)).filter((file) =>
    file.endsWith(kind),
  );

const streams = wires.flatMap((wire) => files(wire, '.stream.http').map((file) => ({ wire, text: read(wire, file) })));
const wholes = wires.flatMap((wire) => files(wire, '.whole.http').map((file) => ({ wire, text: read(wire, file) })));

/** JSON values that no provider would send. */
const junk = anything({ maxDepth: 2, withObjectString: true }).map(
  (value) => JSON.parse(JSON.stringify(value) ?? 'null') as unknown,
);
/** Values that a careless provider may send. */
const slip = constantFrom<unknown>(null, '', 0, -1, true, [], {}, [null], 'x', 1e9, undefined);

/** Replaces one of the members, at any depth, by the value; undefined removes it. */
function spoil(text: string, place: number, value: unknown): string {
  const root = { root: JSON.parse(text) as unknown };
  const places: [Record<string, unknown>, string][] = [];
  const visit = (parent: Record<string, unknown>): void => {
    for (const key of Object.keys(parent)) {
      places.push([parent, key]);
      const member = parent[key];
      if (typeof member === 'object' && member !== null) visit(member as Record<string, unknown>);
    }
  };
  visit(root);
  const [parent, key] = places[place % places.length]!;
  parent[key] = value;
  return JSON.stringify(root.root) ?? 'null';
}

/** Expects that any output of a provider is the provider's failure: never a 500, never a hang, always an end. */
function expectSense({ status, text, events, done }: StreamedResponse, spoilt: string): void {
  const told = `${text.slice(-600)}\nfor ${spoilt.slice(0, 3000)}`;
  expect([200, 400, 422, 429, 502, 524, 529], told).toContain(status);
  expect(text.includes('"error_type":"server"'), told).toBe(false);
  if (status !== 200 || text.startsWith('{')) return;
  expect(done, told).toBe(true);
  expect(events.at(-1)?.type, told).toMatch(/^response\.(completed|incomplete|failed)$/);
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
}

async function askBoth(wire: WireName, spoilt: string): Promise<void> {
  for (const { mode } of cases.filter((each) => each.wire === wire)) {
    const body = { model: `${wire}/patient`, input: 'x' };
    if (mode === 'streamed') expectSense(await lab.gateway.stream(body), spoilt);
    else {
      const response = await lab.gateway.post('/responses', body);
      const text = await response.text();
      expectSense(
        { status: response.status, text, events: [], done: false, headers: response.headers, comments: [] },
        spoilt,
      );
    }
  }
}

it.each([
  ['junk', junk],
  ['a slip', slip],
])('is never confused by %s in a frame of a stream', async (_name, values) => {
  await assert(
    asyncProperty(constantFrom(...streams), nat(), nat(), values, async ({ wire, text }, frame, place, value) => {
      const lines = text.split(/\r?\n/);
      const frames = lines.flatMap((line, index) => (/^data: ?\{/.test(line) ? [index] : []));
      const at = frames[frame % frames.length]!;
      lines[at] = `data: ${spoil(lines[at]!.slice('data:'.length), place, value)}`;
      const spoilt = lines.join('\n');
      lab.upstream.always(sse(spoilt));
      await askBoth(wire, spoilt);
    }),
    { numRuns: isFull ? 150 : 30 },
  );
});

it.each([
  ['junk', junk],
  ['a slip', slip],
])('is never confused by %s in a buffered response', async (_name, values) => {
  await assert(
    asyncProperty(constantFrom(...wholes), nat(), values, async ({ wire, text }, place, value) => {
      const spoilt = spoil(text, place, value);
      lab.upstream.always(json(JSON.parse(spoilt)));
      await askBoth(wire, spoilt);
    }),
    { numRuns: isFull ? 150 : 30 },
  );
});

it('is never confused by missing, repeated or reordered frames', async () => {
  await assert(
    asyncProperty(constantFrom(...streams), nat(), nat(), nat(2), async ({ wire, text }, from, to, how) => {
      const frames = text.split(/(?<=\n\r?\n)/);
      const [moved] = frames.splice(from % frames.length, how === 1 ? 0 : 1);
      if (how > 0) frames.splice(to % (frames.length + 1), 0, moved ?? frames[from % frames.length]!);
      const spoilt = frames.join('');
      lab.upstream.always(sse(spoilt));
      await askBoth(wire, spoilt);
    }),
    { numRuns: isFull ? 150 : 30 },
  );
});
