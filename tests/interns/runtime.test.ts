import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LocalRuntime } from '../../src/interns/runtime/create-runtime.ts';
import { createReader, createTestIntern, openRuntimeLab, runIntern } from './runtime-lab.ts';

const { signal } = new AbortController();
const credentials = { apiKey: 'unused' };
const lab = await openRuntimeLab();
afterAll(() => lab.close());
const problem = await lab.driver.probe();

describe.skipIf(problem !== undefined)('the runtime of interns', () => {
  let runtime: LocalRuntime;
  const intern = createTestIntern({ instructions: 'Be brief.' });
  const run = (input: string, more?: Parameters<typeof runIntern>[3]) => runIntern(runtime, intern.id, input, more);
  beforeAll(async () => {
    runtime = lab.openRuntime();
    await runtime.prepareHome(intern, signal);
    const started = performance.now();
    expect(await runtime.start(intern, credentials, signal)).toEqual({ address: expect.stringMatching(/^test#/) });
    process.stderr.write(`started in ${Math.round(performance.now() - started)} ms\n`);
  });

  it('chats', async () => {
    const { text, events } = await run('Hello there');
    expect(text).toBe('Hello there');
    expect(events.at(-1)).toMatchObject({ type: 'end', status: 'completed', usage: { cost: expect.any(Number) } });
    expect(events).toContainEqual({ type: 'model', model: 'simulator/echo' });
  });

  it('uses tools in its home', async () => {
    const { text } = await run(
      '[[call write_file {"path": "notes/a.txt", "content": "kept"}]] [[then]] [[call shell {"command": "cat notes/a.txt; pwd; env | grep -c HEADGATE_TOKEN"}]] [[then]] [[say Done.]]',
    );
    expect(text).toBe('Done.');
    const repeated = await run('[[call read_file {"path": "notes/a.txt"}]]');
    expect(repeated.text).toContain('kept');
  });

  it('remembers a conversation after its agent was killed', async () => {
    expect(await runtime.checkHealth(intern, signal)).toBeUndefined();
  });

  it('asks before it uses a tool in the mode manual', async () => {
    const first = await run('[[call shell {"command": "echo secret-$((40+2))"}]]', { mode: 'manual' });
    expect(first.events.at(-1)).toMatchObject({
      type: 'interaction',
      interaction: { kind: 'permission', operation: 'shell: echo secret-$((40+2))' },
    });
    const asked = first.events.at(-1);
    const id = asked?.type === 'interaction' ? asked.interaction.id : '';
    const { read, reader } = createReader();
    await runtime.find(intern.id)!.runs.answer(id, 's', 'allow_once', reader);
    expect((await read).text).toContain('secret-42');
  });
});
