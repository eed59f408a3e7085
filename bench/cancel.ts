/**
 * How long the work of a run continues after its client has disconnected. The run is the long one of tests/tools/long-run.ts:
 * parallel tools, an MCP server, inner runs, an image. The client disconnects at each of its events.
 *
 *     node bench/cancel.ts                    every event, on the wire openai-chat
 *     node bench/cancel.ts --wire gemini --step 5
 *
 * Client, gateway and servers share one process, so the times include all of them.
 */
import { parseArgs } from 'node:util';
import sharp from 'sharp';
import { longRunWires, openLongRun } from '../tests/tools/long-run.ts';

const { values: options } = parseArgs({
  options: { wire: { type: 'string', default: 'openai-chat' }, step: { type: 'string', default: '1' } },
});
const wire = longRunWires.find((each) => each === options.wire);
const step = Number(options.step);
if (!wire || !(step >= 1)) throw new Error(`--wire is one of ${longRunWires.join(', ')}; --step is 1 or more.`);

/** The budget for everything to end. */
const budgetMs = 100;

const image = await sharp({ create: { width: 16, height: 16, channels: 3, background: 'red' } })
  .png()
  .toBuffer();
const run = await openLongRun(image);
const warmUp = 3;
let events = 0;
for (let round = 0; round < warmUp; round++) ({ events } = await run.play(wire, `warm-up-${round}`));

/** For each kind of work that was open, how long it went on. */
const times = new Map<string, number[]>();
const keep = (what: string, ms: number): void => {
  const known = times.get(what);
  if (known) known.push(ms);
  else times.set(what, [ms]);
};
for (let index = 0; index < events - 1; index += step) {
  const { leftAt, activities } = await run.play(wire, `event-${index}`, index);
  const ended = await Promise.all(activities.map(async ({ what, ended: end }) => ({ what, ...(await end) })));
  const open = ended.filter(({ how }) => how === 'aborted').map(({ what, at }) => ({ what, ms: at - leftAt! }));
  for (const { what, ms } of open) keep(what, ms);
  if (open.length > 0) keep('everything', Math.max(...open.map(({ ms }) => ms)));
}

console.log(`${events} events on ${wire}, a disconnect at ${times.get('everything')!.length} points with open work`);
console.log('| Work | Times | p50 | p99 | Maximum |\n|---|---|---|---|---|');
for (const [what, list] of times) {
  const sorted = list.toSorted((a, b) => a - b);
  const at = (share: number) =>
    `${sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(1)} ms`;
  console.log(`| ${what} | ${list.length} | ${at(0.5)} | ${at(0.99)} | ${at(1)} |`);
}
const longest = Math.max(...times.get('everything')!);
console.log(longest <= budgetMs ? `pass: at most ${budgetMs} ms` : `miss: more than ${budgetMs} ms`);
await run.close();
process.exit(); // the tool of the test waits for its next call
