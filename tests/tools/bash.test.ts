import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Turn } from '../clients/turn.ts';
import { createFakeContainers, tooMany } from './fake-containers.ts';
import { call, modes, openToolLab, shownItems, type ToolLab, wireNames } from './lab.ts';
import { readSent } from './sent.ts';

/* `router:bash` on every wire, with containers in memory. */

const containers = createFakeContainers();
let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab({}, {}, { containers });
});
afterAll(() => lab.close());
beforeEach(() => {
  containers.reset();
  lab.takeRequests();
});

const tools = [{ type: 'router:bash', parameters: { engine: 'router' } }];
const running = (input: object): Turn => ({ calls: [call('router_bash', input)] });
const answering: Turn = { text: 'Done.' };

describe.each(wireNames)('router:bash on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    const respond = (request: object, ...turns: Turn[]) => {
      lab.script(wire, ...turns);
      return lab.respond(wire, mode, { tools, ...request });
    };
    const listSent = () => lab.takeRequests().map((request) => readSent(wire, request));

    it('runs a command', async () => {
      containers.run = async () => ({ stdout: 'a', stderr: 'b', outcome: { type: 'exit', exit_code: 3 } });
      const served = await respond({ session_id: 's1' }, running({ command: 'make' }), answering);

      const result = { command: 'make', stdout: 'a', stderr: 'b', exitCode: 3 };
      expect(shownItems(served)).toMatchObject([
        { type: 'router:bash', status: 'completed', container_id: 'sess_s1', ...result },
        { type: 'message' },
      ]);
      expect(listSent()[1]!.results).toMatchObject([{ value: result }]);
      expect(containers.opened).toMatchObject([{ compute: 'bash' }]);
    });

    it.each([
      {},
      { parameters: { engine: 'auto' } },
      { parameters: { engine: 'native' } },
    ])('returns the call to the client with %j', async (settings) => {
      const bash = { type: 'router:bash', ...settings };
      const request = { tools: [bash, { type: 'router:datetime' }], tool_choice: { type: 'router:bash' } };
      const served = await respond(request, { calls: [call('bash', { command: 'make' })] });

      expect(shownItems(served)).toMatchObject([
        { type: 'function_call', name: 'bash', arguments: '{"command":"make"}', status: 'completed' },
      ]);
      const output = {
        type: 'function_call_output',
        call_id: shownItems(served)[0]!['call_id'],
        output: 'ok',
      };
      const input = [{ role: 'user', content: 'Make.' }, ...served.body.output, output];
      expect((await respond({ ...request, input, tool_choice: 'auto' }, answering)).status).toBe(200);
      const [first, second] = listSent();
      expect(first).toMatchObject({ tools: ['bash', 'router_datetime'], choice: 'bash' });
      expect(second!.calls).toMatchObject([{ name: 'bash', value: { command: 'make' } }]);
      expect(containers.opened).toEqual([]);
    });

    it('rejects files that do not exist, also where the client runs the commands', async () => {
      const environment = { type: 'container_auto', file_ids: ['file_w1'] };
      const date = { type: 'router:datetime' };
      const { status, body } = await respond({ tools: [date, { type: 'router:bash', parameters: { environment } }] });
      expect({ status, body }).toMatchObject({
        status: 400,
        body: { error: { metadata: { issues: [{ path: 'tools[1].parameters.environment.file_ids[0]' }] } } },
      });
      containers.storedFiles.add('file_w1');
      const tools = [{ type: 'router:bash', parameters: { environment } }];
      expect((await respond({ tools }, { calls: [call('bash', { command: 'make' })] })).status).toBe(200);
      lab.takeRequests();
    });

    it('starts over with another container, which the rest of the response uses', async () => {
      const turns = [{ command: 'a' }, { restart: true }, { command: 'b' }, { command: 'c', restart: true }].map(
        running,
      );
      const served = await respond({ session_id: 's1' }, ...turns, answering);

      const ids = shownItems(served).map(({ container_id: id }) => id);
      const restarted = expect.stringMatching(/^sess_s1-r[a-z0-9]{12}$/);
      expect(ids).toEqual(['sess_s1', restarted, restarted, restarted, undefined]);
      expect(ids[2]).toBe(ids[1]);
      expect(ids[3]).not.toBe(ids[1]);
      expect(containers.commands.map(({ command, containerId }) => [command, containerId])).toEqual([
        ['a', ids[0]],
        ['b', ids[2]],
        ['c', ids[3]],
      ]);
      expect(listSent()[2]!.results[1]).toMatchObject({
        value: { stdout: 'The container was restarted.', exitCode: 0 },
      });
    });

    it('replays the item as the call and its result', async () => {
      const first = await respond({}, running({ command: 'pwd' }), answering);
      lab.takeRequests();
      const input = [{ role: 'user', content: 'Run.' }, ...first.body.output, { role: 'user', content: 'Thanks.' }];
      await respond({ input }, answering);

      const [sent] = listSent();
      expect(sent).toMatchObject({
        calls: [{ name: 'router_bash', value: { command: 'pwd' } }],
        results: [{ value: { command: 'pwd', stdout: 'pwd\n', stderr: '', exitCode: 0 } }],
      });
    });
  });
});

describe('router:bash', () => {
  const respond = async (...turns: Turn[]) => {
    lab.script('openai-chat', ...turns, answering);
    return lab.respond('openai-chat', 'buffered', { tools });
  };

  it('runs several commands in the time of all, and returns the exit code of the last that failed', async () => {
    const codes: Record<string, number> = { two: 2, three: 3 };
    containers.run = async ({ command }) => ({
      stdout: command,
      stderr: `${command}!`,
      outcome: { type: 'exit', exit_code: codes[command] ?? 0 },
    });
    const commands = ['one', 'two', 'three', 'four'];
    const served = await respond(running({ commands, timeout_ms: 1e9 }));
    expect(shownItems(served)[0]).toMatchObject({
      command: 'one\ntwo\nthree\nfour',
      stdout: 'one\ntwo\nthree\nfour',
      stderr: 'one!\ntwo!\nthree!\nfour!',
      exitCode: 3,
    });
    const times = containers.commands.map(({ timeoutMs }) => timeoutMs);
    expect(times[0]).toBe(300_000);
    expect(times.every((each, index) => index === 0 || each <= times[index - 1]!)).toBe(true);
  });

  it('says which commands a timeout has stopped', async () => {
    containers.run = async ({ command }) => (command === 'two' ? { outcome: { type: 'timeout' } } : { stdout: 'x' });
    const served = await respond(running({ commands: ['one', 'two', 'three'] }));
    expect(shownItems(served)[0]).toMatchObject({
      status: 'completed',
      exitCode: 124,
      stdout: 'x',
      stderr: 'The commands did not end within 120000 ms.\n1 of 3 commands did not run.',
    });
    expect(containers.commands).toHaveLength(2);
  });

  it.each([{}, { commands: [] }])('rejects the arguments %j', async (input) => {
    const served = await respond(running(input));
    expect(shownItems(served).map(({ type }) => type)).toEqual(['message']);
    expect(lab.takeRequests()[1]!.text).toContain('`command` is required');
  });

  it('runs `command` before `commands`', async () => {
    await respond(running({ command: 'a', commands: ['b'] }));
    expect(containers.commands.map(({ command }) => command)).toEqual(['a', 'b']);
  });

  it('fails the item if the container cannot be used', async () => {
    containers.failure = tooMany;
    const served = await respond(running({ command: 'a' }));
    expect(shownItems(served)[0]).toMatchObject({ status: 'failed', error: tooMany.message, command: 'a' });
    expect(shownItems(served)[0]).not.toHaveProperty('exitCode');
  });

  it('clashes with a function of the client of the same name', async () => {
    const bash = { type: 'function', name: 'bash', parameters: null };
    const { status, body } = await lab.respond('openai-chat', 'buffered', { tools: [bash, { type: 'router:bash' }] });
    expect([status, body.error?.message]).toEqual([400, expect.stringContaining('`bash`')]);
  });

  it('runs at the gateway for a subagent, which has no client', async () => {
    const task = { task_name: 'make', task_description: 'Make it.' };
    lab.script('openai-chat', { calls: [call('router_subagent', task)] });
    lab.script('openai-chat', running({ command: 'make' }), { text: 'Made.' }, answering);
    const subagent = { type: 'router:subagent', parameters: { tools: [{ type: 'router:bash' }] } };
    const served = await lab.respond('openai-chat', 'buffered', { tools: [subagent], session_id: 's1' });
    expect(shownItems(served)[0]).toMatchObject({ type: 'router:subagent', outcome: 'Made.' });
    expect(containers.commands).toMatchObject([{ command: 'make' }]);
  });
});
