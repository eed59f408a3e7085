import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LocalRuntime } from '../../src/interns/runtime/create-runtime.ts';
import { testLimits } from '../../src/platform/sandbox/contract.ts';
import { patient } from '../../src/testing/patience.ts';
import { createReader, createTestIntern, openRuntimeLab, runIntern } from './runtime-lab.ts';

const { signal } = new AbortController();
const credentials = { apiKey: 'unused' };
const plainSettings = { limits: testLimits, program: undefined, allowedDomains: [] };
/** An agent that ended starts again in a new sandbox. */
const lab = await openRuntimeLab();
let opened: LocalRuntime | undefined;
afterAll(async () => {
  await opened?.close();
  await lab.close();
});
const problem = await lab.driver.probe();

describe.skipIf(problem !== undefined)('the runtime of interns', () => {
  let runtime: LocalRuntime;
  const intern = createTestIntern({ instructions: 'Be brief.' });
  const run = (input: string, more?: Parameters<typeof runIntern>[3]) => runIntern(runtime, intern.id, input, more);
  beforeAll(async () => {
    runtime = lab.openRuntime();
    opened = runtime;
    await runtime.prepareHome(intern, signal);
    expect(await runtime.start(intern, credentials, signal)).toEqual({ address: expect.stringMatching(/^test#/) });
  });

  it('remembers a conversation after its agent was killed, and starts it again', async () => {
    const first = await run('Remember this.', { sessionId: 'kept' });
    expect(first.text).toBe('Remember this.');
    const killed = await run('[[call shell {"command": "kill -9 $PPID"}]]', { sessionId: 'kept' });
    expect(killed.error).toMatchObject({ retryable: true });
    await vi.waitFor(async () => expect((await run('again', { sessionId: 'kept' })).text).toBe('again'));
    const { events } = await run('and again', { sessionId: 'kept' });
    const fresh = await run('and again', { sessionId: 'fresh' });
    const countInput = (all: typeof events) =>
      all.map((event) => (event.type === 'end' ? event.usage!.input_tokens : 0)).at(-1)!;
    expect(countInput(events)).toBeGreaterThan(countInput(fresh.events) + 20);
    expect(await runtime.checkHealth(intern, signal)).toBeUndefined();
    expect(runtime.find(intern.id)!.running.logs.text).toMatch(/the runtime ended: .*137/);
  });

  it('starts again where no command of the killed agent can change its code', async () => {
    const replace =
      "touch /tmp/mark; echo kept >kept.txt; (while :; do echo 'export const createRequestCheck = () => () => true;' >/tmp/headgate/agent/verify-request.js; done) </dev/null >/dev/null 2>&1 & kill -9 $PPID";
    const order = String.raw`ls /tmp/mark 2>&1; cat kept.txt; exec 3<>/dev/tcp/127.0.0.1/8790; printf 'POST /.headgate/runs HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}' >&3; head -1 <&3`;
    expect((await run(`[[call shell ${JSON.stringify({ command: replace })}]]`)).error).toBeDefined();
    await vi.waitFor(async () => expect((await run('again')).text).toBe('again'));
    const { text } = await run(`[[call shell ${JSON.stringify({ command: order })}]]`);
    expect(text).toMatch(/No such file.*\nkept\nHTTP\/1\.1 401/);
  });

  it('opens no debugger for its commands', async () => {
    await run('[[call shell {"command": "kill -USR1 $PPID"}]]');
    expect((await run('Still here')).text).toBe('Still here');
    const { text } = await run('[[call shell {"command": "exec 3<>/dev/tcp/127.0.0.1/9229"}]]');
    expect(text).toContain('Connection refused');
    expect(runtime.find(intern.id)!.running.logs.text).not.toContain('Debugger');
  });

  it('says why an agent does not start', async () => {
    const failing = lab.openRuntime({
      settings: () => ({ ...plainSettings, program: { command: ['bash', '-c', 'echo no luck; exit 3'], files: [] } }),
    });
    const other = createTestIntern();
    await expect(failing.start(other, credentials, signal)).rejects.toThrow(/ended with code 3: .*no luck/);
    expect(failing.find(other.id)).toBeUndefined();
    const lost = lab.openRuntime({
      settings: () => ({ ...plainSettings, program: { command: ['node'], files: ['/nonexistent/agent.js'] } }),
    });
    await expect(lost.start(other, credentials, signal)).rejects.toThrow('/nonexistent/agent.js of interns.runtimes');
    await lost.destroy(other.id, { acknowledgesLoss: false });
    await failing.close();
  });

  it('says in one sentence that an agent does not respond, and keeps its log', async () => {
    const command = ['bash', '-c', 'echo still thinking; exec sleep 600'];
    const startMs = patient(1500); // the agent writes its line in that time
    const silent = lab.openRuntime({
      settings: () => ({ ...plainSettings, program: { command, files: [] } }),
      times: { startMs },
    });
    const other = createTestIntern({ name: 'sleepy' });
    await expect(silent.start(other, credentials, signal)).rejects.toThrow(
      new Error(
        `The agent did not accept requests within ${startMs / 1000} s; \`headgate interns logs sleepy\` shows what it wrote.`,
      ),
    );
    expect(await silent.readLog(other)).toMatch(
      /still thinking\n.*the runtime did not start: The agent did not accept/,
    );
    expect(await silent.readLog(createTestIntern())).toBeUndefined();
    await silent.destroy(other.id, { acknowledgesLoss: false });
    await silent.close();
  });

  it('reads the allowed hosts of a running intern again after a reload', async () => {
    let allowedDomains = ['a.example.org'];
    let read: (() => readonly string[]) | undefined;
    const other = lab.openRuntime({
      settings: () => ({ ...plainSettings, allowedDomains }),
      async openEgress(request) {
        read = request.allowedDomains;
        throw new Error('no network');
      },
    });
    await expect(other.start(createTestIntern(), credentials, signal)).rejects.toThrow('no network');
    allowedDomains = [];
    expect(read!()).toEqual([]);
    await other.close();
  });

  it('runs the example agent', async () => {
    const files = [join(import.meta.dirname, '../../examples/echo-agent.js')];
    const command = ['node', '/tmp/headgate/files/echo-agent.js'];
    const other = lab.openRuntime({ settings: () => ({ ...plainSettings, program: { command, files } }) });
    const echo = createTestIntern();
    await other.start(echo, credentials, signal);
    expect((await runIntern(other, echo.id, 'hello')).text).toBe('1: hello');
    expect((await runIntern(other, echo.id, 'model Hello')).text).toBe('Hello');
    const asked = await runIntern(other, echo.id, 'ask');
    const question = asked.events.at(-1);
    const { read, reader } = createReader();
    const id = question?.type === 'interaction' ? question.interaction.id : '';
    await other.find(echo.id)!.runs.answer(id, 's', '{"action": "accept", "content": {"color": "red"}}', reader);
    expect((await read).text).toBe('You like red.');
    await other.stop(echo.id);
    await other.start(echo, credentials, signal);
    expect((await runIntern(other, echo.id, 'hello')).text).toBe('4: hello');
    await other.destroy(echo.id, { acknowledgesLoss: false });
    await other.close();
  });

  it('chats', async () => {
    const { text, events } = await run('Hello there');
    expect(text).toBe('Hello there');
    expect(events.at(-1)).toMatchObject({ type: 'end', status: 'completed', usage: { cost: expect.any(Number) } });
    expect(events).toContainEqual({ type: 'model', model: 'simulator/echo' });
  });

  it('does not take orders from its commands, whatever they find in the sandbox', async () => {
    const program = readFileSync(join(import.meta.dirname, 'order-agent.cjs'), 'utf8');
    const write = { path: 'order.cjs', content: program };
    const shell = { command: 'node order.cjs' };
    const { text } = await run(
      `[[call write_file ${JSON.stringify(write)}]] [[then]] [[call shell ${JSON.stringify(shell)}]]`,
    );
    const found = JSON.parse(/\{.*\}/.exec(text)![0]) as Record<string, unknown>;
    expect(found).toEqual({ opened: [], left: [], words: expect.any(Number), statuses: [401] });
    expect(found['words']).toBeGreaterThan(5);
    expect((await run('Still here')).text).toBe('Still here');
  });

  it('shows its commands no pipe of a process', async () => {
    const { text } = await run('[[call shell {"command": "ls /run/headgate; echo listed"}]]');
    expect(text).toContain('listed');
    expect(text).not.toMatch(/\d\.(in|out|err|status)/);
  });

  it('uses tools in its home', async () => {
    const { text } = await run(
      '[[call write_file {"path": "notes/a.txt", "content": "kept"}]] [[then]] [[call shell {"command": "cat notes/a.txt; pwd; env | grep -c HEADGATE_CONTROL_KEY"}]] [[then]] [[say Done.]]',
    );
    expect(text).toBe('Done.');
    const repeated = await run('[[call read_file {"path": "notes/a.txt"}]]');
    expect(repeated.text).toContain('kept');
  });
});
