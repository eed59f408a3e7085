import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Turn } from '../clients/turn.ts';
import { holdTool } from './held-tool.ts';
import { call, modes, openToolLab, stageOf, type ToolLab, wireNames } from './lab.ts';

/* The stage of server tools in the metadata: every call with its duration, and the number of steps. */

const held = holdTool('metadata');
const datetime = { type: 'router:datetime' };
const tools = [{ type: held.type }, datetime];
let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab({ tools: { modules: [held.path], max_steps: 200 } });
});
afterAll(async () => {
  await lab.close();
  held.close();
});

interface ListedCall {
  tool: string;
  duration_ms: number;
  error?: string;
}
const callsOf = (stage: ReturnType<typeof stageOf>) => stage!['calls'] as ListedCall[];

describe.each(wireNames)('the metadata on %s', (wire) => {
  it.each(modes)('lists each call of a tool with its own duration, %s', async (mode) => {
    const jumpMs = 100_000;
    let offsetMs = 0;
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + offsetMs);
    const both: Turn = { calls: [call(held.name, { text: 'slow' }), call(held.name, { text: 'fast' })] };
    lab.script(wire, both, { calls: [call('router_datetime')] }, { text: 'Done.' });
    const serving = lab.respond(wire, mode, { tools });
    const begun = [await held.next(), await held.next()];
    begun.find(({ text }) => text === 'fast')!.fail('It broke.');
    await setImmediate(); // its end needs no I/O
    offsetMs = jumpMs;
    begun.find(({ text }) => text === 'slow')!.finish({});
    const served = await serving;
    clock.mockRestore();

    expect(served.body.status).toBe('completed');
    const stage = stageOf(served);
    expect(stage).toEqual({
      mode: 'sdk',
      tools: [held.type, 'router:datetime'],
      steps: 3,
      calls: [
        { tool: held.type, duration_ms: expect.any(Number), error: 'It broke.' },
        { tool: held.type, duration_ms: expect.any(Number) },
        { tool: 'router:datetime', duration_ms: expect.any(Number) },
      ],
    });
    const [fast, slow, last] = callsOf(stage).map((each) => each.duration_ms);
    expect(slow).toBeGreaterThanOrEqual(jumpMs);
    for (const other of [fast, last]) expect(other).toBeLessThan(jumpMs);
    const { attempts, attempt } = served.body.router_metadata!;
    expect(attempts!.map(({ status }) => status)).toEqual([200, 200, 200]); // one for each turn
    expect(attempt).toBe(3);
    const early = served.events.slice(0, -1).filter((event) => JSON.stringify(event).includes('router_metadata'));
    expect(early).toEqual([]); // only the last event has it
  });
});

describe.each(modes)('the metadata, %s', (mode) => {
  const wire = 'openai-chat';

  it('counts calls that do not run as steps, and does not list them', async () => {
    const odd = [call('router_weather'), call('router_datetime', { zone: 'UTC' }), call('router_datetime')];
    lab.script(wire, { calls: [...odd, call('router_datetime')] }, { text: 'Done.' });
    const stage = stageOf(await lab.respond(wire, mode, { tools, max_tool_calls: 3 }));
    expect(stage).toMatchObject({ steps: 4, stop_reason: 'max_tool_calls' });
    expect(callsOf(stage).map(({ tool }) => tool)).toEqual(['router:datetime']);
  });

  it('lists at most 100 calls', async () => {
    lab.script(wire, { calls: Array.from({ length: 120 }, () => call('router_datetime')) }, { text: 'Done.' });
    const stop = [{ type: 'step_count_is', step_count: 200 }];
    const stage = stageOf(await lab.respond(wire, mode, { tools, stop_server_tools_when: stop }));
    expect(stage).toMatchObject({ steps: 120 });
    expect(callsOf(stage)).toHaveLength(100);
  });

  it('lists the calls of a response whose later turn fails', async () => {
    const fail = { status: 503, message: 'Busy.' };
    lab.script(wire, { calls: [call('router_datetime')] }, { fail });
    lab.scriptOther(wire, { fail });
    const served = await lab.respond(wire, mode, { tools });
    expect(served.body.error).not.toBeNull();
    expect(stageOf(served)).toMatchObject({ steps: 1, calls: [{ tool: 'router:datetime' }] });
  });
});
