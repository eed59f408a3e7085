import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { currentTimeMs } from '../../src/domain/clock.ts';
import type { ToolCallContext } from '../../src/tools/server-tool.ts';
import { testGateway } from '../../src/testing/test-gateway.ts';
import { newSession, rowsOf } from '../api/ledger-rows.ts';
import { gate, openStream } from '../api/open-stream.ts';
import { defaultCounts, type Turn } from '../clients/turn.ts';
import { call, modes, openToolLab, shownItems, stageOf, type ToolLab } from './lab.ts';

const dice = join(import.meta.dirname, '../../examples/dice-tool.js');
const folder = mkdtempSync(join(tmpdir(), 'headgate-tools-'));

/** Writes a module. @returns its path */
function writeModule(name: string, source: string): string {
  const path = join(folder, `${name}.mjs`);
  writeFileSync(path, source);
  return path;
}

/** The tool of these tests: runs a function that the test sets. */
const shared = globalThis as { performForTest?: (context: ToolCallContext, input: object) => unknown };
const probe = writeModule(
  'probe',
  `export default [{
    type: 'router:probe',
    description: 'Runs what the test says.',
    arguments: { type: 'object', properties: { name: { type: 'string' } } },
    timeoutMs: 1000,
    execute: (input, parameters, context) => globalThis.performForTest(context, input),
  }]`,
);

const shaky = writeModule(
  'shaky',
  `const broken = () => { throw new Error('broken'); };
  export default {
    type: 'router:shaky',
    description: 'Fails in all but its work.',
    arguments: { type: 'object' },
    item: broken,
    replay: broken,
    execute: () => ({ result: {} }),
  }`,
);

let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab({ tools: { modules: [dice, probe, shaky] }, server: { keep_alive_comment_ms: 20 } });
});
afterAll(async () => {
  await lab.close();
  rmSync(folder, { recursive: true, force: true });
});

const wire = 'anthropic-messages';
const probing: Turn = { text: 'Wait.', calls: [call('router_probe')] };
const answering: Turn = { text: 'Done.' };
const turnNanoUsd = (defaultCounts.input + defaultCounts.output * 10) * 1000;

describe.each(modes)('a tool of the operator, %s', (mode) => {
  const respond = (request: object, ...turns: Turn[]) => {
    lab.takeRequests();
    lab.script(wire, ...turns);
    return lab.respond(wire, mode, { tools: [{ type: 'router:probe' }], ...request });
  };

  it('is the example of this repository', async () => {
    const tools = [{ type: 'router:roll_dice', parameters: { sides: 2 } }];
    const rolling = { calls: [call('router_roll_dice', { count: 3 })] };
    const served = await respond({ tools }, rolling, answering);

    const [item] = shownItems(served);
    expect(item).toMatchObject({ type: 'router:roll_dice', status: 'completed', arguments: '{"count":3}' });
    const { rolls } = JSON.parse(String(item!['result'])) as { rolls: number[] };
    expect(rolls).toHaveLength(3);
    const [, second] = lab.takeRequests();
    expect(second!.text).toContain(JSON.stringify(JSON.stringify({ rolls })).slice(1, -1));

    const input = [{ role: 'user', content: 'Roll.' }, item, { role: 'user', content: 'What was it?' }];
    await respond({ tools, input }, answering);
    expect(lab.takeRequests()[0]!.text).toContain(JSON.stringify(JSON.stringify({ rolls })).slice(1, -1));
  });

  it('is checked like any other', async () => {
    const parameters = { sides: 1 };
    const served = await respond({ tools: [{ type: 'router:roll_dice', parameters }] });
    expect(served.status).toBe(400);
    expect(served.body.error?.metadata?.['issues']).toMatchObject([{ path: 'tools[0].parameters.sides' }]);
    const none = await respond({ tools: [{ type: 'router:probe', parameters: { a: 1 } }] });
    expect(none.body.error?.metadata?.['issues']).toMatchObject([{ path: 'tools[0].parameters.a' }]);
  });

  it('can be forced by its type', async () => {
    shared.performForTest = () => ({ result: {} });
    await respond({ tool_choice: { type: 'router:probe' } }, probing, answering);
    expect(lab.takeRequests()[0]!.text).toContain('"tool_choice":{"type":"tool","name":"router_probe"}');
  });

  it.each<[string, (context: ToolCallContext) => unknown, string]>([
    ['says why it fails', ({ fail }) => fail('The line is dead.'), 'The line is dead.'],
    [
      'throws anything else',
      () => {
        throw new Error('password=hunter2');
      },
      'The tool failed.',
    ],
    ['rejects', () => Promise.reject(new Error('password=hunter2')), 'The tool failed.'],
    ['returns something else', () => 5, 'The tool failed.'],
    ['returns what is no JSON', () => ({ result: { big: 1n } }), 'The tool failed.'],
    ['returns nothing', () => ({}), 'The tool failed.'],
    ['returns too much', () => ({ result: { text: 'x'.repeat(1_100_000) } }), 'too large'],
    ['never ends', () => new Promise(() => {}), 'did not end within 1000 ms'],
  ])('that %s is an error for the model', async (_, perform, says) => {
    shared.performForTest = perform;
    const served = await respond({}, probing, answering);

    expect(served.body.status).toBe('completed');
    expect(shownItems(served)).toMatchObject([
      { type: 'message' },
      { type: 'router:probe', status: 'failed', error: expect.stringContaining(says) },
      { type: 'message', content: [{ text: 'Done.' }] },
    ]);
    const [, second] = lab.takeRequests();
    expect(second!.text).toContain(says);
    expect(second!.text).not.toContain('hunter2');
    expect(stageOf(served)).toMatchObject({ calls: [{ error: expect.stringContaining(says) }] });
    expect(served.body.usage?.server_tool_use_details).toMatchObject({ tool_calls_executed: 1 });
  });

  it('gets a clock, a signal and the number of its earlier calls', async () => {
    const seen: ToolCallContext[] = [];
    shared.performForTest = (context) => {
      seen.push(context);
      return { result: {} };
    };
    await respond({}, { calls: [call('router_probe'), call('router_probe')] }, probing, answering);

    expect(seen.map(({ earlierCalls }) => earlierCalls)).toEqual([0, 1, 2]);
    expect(Math.abs(seen[0]!.now() - currentTimeMs())).toBeLessThan(60_000);
    expect(seen[0]!.signal.aborted).toBe(false);
  });

  it('runs beside others of its turn: the results keep the order of the calls', async () => {
    const opened = [gate(), gate()];
    shared.performForTest = async (_context, { name }: { name?: string }) => {
      if (name === 'first') {
        opened[0]!.open();
        await opened[1]!.opened; // the second one runs at the same time
      } else {
        await opened[0]!.opened;
        opened[1]!.open();
      }
      return { result: { name } };
    };
    const calls = ['first', 'second'].map((name) => call('router_probe', { name }));
    await respond({}, { calls }, answering);
    const [, second] = lab.takeRequests();
    const results = second!.text.slice(second!.text.indexOf('tool_result'));
    expect(results.indexOf('first')).toBeLessThan(results.indexOf('second'));
  });

  it('stops when the client disconnects, and what was used is recorded', async () => {
    const session = newSession();
    const begun = gate();
    const aborted = gate();
    shared.performForTest = ({ signal }) => {
      signal.addEventListener('abort', aborted.open);
      begun.open();
      return new Promise(() => {}); // it ignores the signal
    };
    lab.takeRequests();
    lab.script(wire, probing);
    const client = new AbortController();
    const body = {
      model: `acme/${wire}`,
      input: 'Hi.',
      stream: mode === 'streamed',
      session_id: session,
      tools: [{ type: 'router:probe' }],
    };
    const gone = lab.gateway.post('/responses', body, { signal: client.signal }).then(
      (response) => response.text().catch(() => 'gone'),
      () => 'gone',
    );
    await begun.opened;
    client.abort();
    await gone;
    await aborted.opened;

    const [row] = await rowsOf(lab.gateway.dataDir, session);
    expect(row).toMatchObject({ outcome: 'cancelled', status: 499, cost_nano_usd: turnNanoUsd });
    expect(lab.takeRequests()).toHaveLength(1);
  });
});

it('has at most 16 MiB of results in a response', async () => {
  shared.performForTest = () => ({ result: { text: 'x'.repeat(1_000_000) }, item: {} });
  const calls = Array.from({ length: 20 }, () => call('router_probe'));
  lab.script('openai-chat', { calls }, answering);
  const served = await lab.respond('openai-chat', 'buffered', { tools: [{ type: 'router:probe' }] });
  const failed = shownItems(served).filter(({ error }) => error !== undefined);
  expect(failed).toHaveLength(4);
  expect(failed[0]).toMatchObject({ error: expect.stringContaining('too large together') });
  expect(served.body.status).toBe('completed');
});

it('may fail in any of its functions', async () => {
  shared.performForTest = () => ({ result: {} });
  const tools = [{ type: 'router:shaky' }];
  lab.script('openai-chat', { calls: [call('router_shaky')] }, answering);
  const served = await lab.respond('openai-chat', 'streamed', { tools });
  expect(shownItems(served)).toMatchObject([{ type: 'router:shaky', status: 'completed' }, { type: 'message' }]);
  const input = [{ role: 'user', content: 'Hi.' }, shownItems(served)[0], { role: 'user', content: 'And?' }];
  lab.script('openai-chat', answering);
  const next = await lab.respond('openai-chat', 'buffered', { tools, input });
  expect(next.body).toMatchObject({
    status: 'completed',
    router_metadata: { params: { dropped_fields: [expect.stringContaining('input[1]')] } },
  });
});

it('stops when the client disconnects in a later turn, with the cost of both', async () => {
  const session = newSession();
  shared.performForTest = () => ({ result: {} });
  lab.takeRequests();
  lab.script(wire, probing, { text: 'This answer is long.', after: 'silence' });
  const tools = [{ type: 'router:probe' }];
  const open = await openStream(lab.gateway, { model: `acme/${wire}`, session_id: session, tools });
  await open.readUntil(/"delta":"This/);
  open.leave();
  await open.readAll().catch(() => {});

  const [row] = await rowsOf(lab.gateway.dataDir, session);
  expect(row).toMatchObject({ outcome: 'cancelled', status: 499 });
  expect(row!.cost_nano_usd).toBeGreaterThan(turnNanoUsd);
  const requests = lab.takeRequests();
  expect(requests).toHaveLength(2);
  expect(await requests[1]!.closed).toBe('aborted');
});

it('cannot replace the id, the type or the status of its item', async () => {
  shared.performForTest = () => ({ result: {}, item: { id: 'x', type: 'message', status: 'failed', note: 'kept' } });
  lab.script(wire, probing, answering);
  const served = await lab.respond(wire, 'streamed', { tools: [{ type: 'router:probe' }] });
  expect(shownItems(served)[1]).toMatchObject({
    id: expect.stringMatching(/^st_/),
    type: 'router:probe',
    status: 'completed',
    note: 'kept',
  });
});

it('keeps a stream open with comments while it works', async () => {
  const held = gate();
  shared.performForTest = async () => {
    await held.opened;
    return { result: {} };
  };
  lab.script(wire, probing, answering);
  const open = await openStream(lab.gateway, { model: `acme/${wire}`, tools: [{ type: 'router:probe' }] });
  await open.readUntil(/"status":"in_progress"[^\n]*"router:probe"|"router:probe"[^\n]*"in_progress"/);
  await open.readUntil(/router:probe[\s\S]*: ROUTER PROCESSING\n\n: ROUTER PROCESSING\n\n/);
  held.open();
  expect(await open.readAll()).toContain('response.completed');
});

describe('tools.modules', () => {
  const fails = (...modules: string[]) => expect(testGateway({ tools: { modules } })).rejects;
  const whole = { type: 'router:a', description: 'A.', arguments: { type: 'object' } };
  const define = (name: string, fields: object, execute = 'execute() {}') =>
    writeModule(name, `export default { ...${JSON.stringify({ ...whole, ...fields })}, ${execute} }`);

  it('fails at the start for a module that is missing or broken', async () => {
    await fails(join(folder, 'missing.mjs')).toThrow(/tools\.modules: .*missing\.mjs cannot be loaded/);
    await fails(writeModule('broken', 'export default {')).toThrow(/cannot be loaded/);
    await fails(writeModule('empty', 'export const a = 1;')).toThrow(/no default export/);
  });

  it.each<[string, string, string]>([
    ['a type of the interface', define('taken', { type: 'router:web_search' }), 'which the interface has'],
    ['another prefix', define('prefix', { type: 'acme:a' }), '`type` must be `router:`'],
    ['no description', define('silent', { description: '' }), '`description`'],
    ['no arguments', define('bare', { arguments: { type: 'string' } }), '`arguments`'],
    ['wrong parameters', define('odd', { parameters: [] }), '`parameters`'],
    ['nothing to execute', define('idle', {}, 'x: 1'), '`execute`'],
    ['an item that is no function', define('item', { item: 5 }), '`item`'],
    ['a wrong time limit', define('slow', { timeoutMs: -1 }), '`timeoutMs`'],
  ])('fails at the start for %s', async (_, path, says) => {
    await fails(path).toThrow(says);
  });

  it('fails at the start for two tools of one type', async () => {
    await fails(define('one', {}), define('two', {})).toThrow('which another module has');
  });
});
