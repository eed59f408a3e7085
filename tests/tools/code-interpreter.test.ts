import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Turn } from '../clients/turn.ts';
import { cite, createFakeContainers, tooMany } from './fake-containers.ts';
import { call, modes, openToolLab, shownItems, stageOf, type ToolLab, wireNames } from './lab.ts';
import { readSent } from './sent.ts';

/* `router:code_interpreter` and `code_interpreter` on every wire, with containers in memory. */

const containers = createFakeContainers();
let lab: ToolLab;
beforeAll(async () => {
  lab = await openToolLab({}, { 'openai-responses': { native_code_interpreter: false } }, { containers });
});
afterAll(() => lab.close());
beforeEach(() => {
  containers.reset();
  lab.takeRequests();
});

const code = 'print(6 * 7)';
const running: Turn = { calls: [call('router_code_interpreter', { code })] };
const answering: Turn = { text: 'It is 42.' };
const hosted = { type: 'code_interpreter', container: { type: 'auto' } };
const include = ['code_interpreter_call.outputs'];
const file = cite('sess_s1', 'plot.png');
const outputs = [
  { type: 'logs', logs: '42' },
  { type: 'file', id: file.file_id, filename: 'plot.png' },
];

describe.each(wireNames)('programs on %s', (wire) => {
  describe.each(modes)('%s', (mode) => {
    const respond = (request: object, ...turns: Turn[]) => {
      lab.script(wire, ...turns);
      return lab.respond(wire, mode, { tools: [hosted], session_id: 's1', ...request });
    };
    const listSent = () => lab.takeRequests().map((request) => readSent(wire, request));
    const print42 = () => {
      containers.run = async () => ({ stdout: '42', files: [file] });
    };

    it('runs with router:code_interpreter', async () => {
      print42();
      const served = await respond({ tools: [{ type: 'router:code_interpreter' }] }, running, answering);
      expect(shownItems(served)).toMatchObject([
        {
          type: 'router:code_interpreter',
          status: 'completed',
          code,
          language: 'python',
          container_id: 'sess_s1',
          stdout: '42',
          stderr: '',
          exitCode: 0,
          files: [file],
        },
        { type: 'message' },
      ]);
      const result = { stdout: '42', stderr: '', exitCode: 0, files: ['plot.png'] };
      expect(listSent()[1]!.results).toMatchObject([{ value: result }]);
      expect(containers.opened).toMatchObject([{ compute: 'code', id: 'sess_s1' }]);
      expect(containers.commands).toMatchObject([{ environment: { PROGRAM: code } }]);
    });

    it('runs with code_interpreter, with its item and its events', async () => {
      print42();
      const served = await respond({ include }, running, answering);
      const [item] = shownItems(served);
      expect(item).toMatchObject({
        type: 'code_interpreter_call',
        status: 'completed',
        code,
        container_id: 'sess_s1',
        outputs,
        id: expect.stringMatching(/^ci_/),
      });
      if (mode === 'buffered') return;
      const events = served.events as unknown as Record<string, unknown>[];
      const own = events.filter(({ item_id: id }) => id === item!.id);
      expect(own).toMatchObject([
        { type: 'response.code_interpreter_call.in_progress', output_index: 0 },
        { type: 'response.code_interpreter_call_code.delta', delta: code },
        { type: 'response.code_interpreter_call_code.done', code },
        { type: 'response.code_interpreter_call.interpreting' },
        { type: 'response.code_interpreter_call.completed' },
      ]);
    });

    it('has outputs only if the request includes them, and replays both', async () => {
      print42();
      const bare = await respond({}, running, answering);
      const whole = await respond({ include }, running, answering);
      expect(shownItems(bare)[0]).toMatchObject({ outputs: null });
      lab.takeRequests();
      const foreign = { type: 'code_interpreter_call', id: 'ci_1', status: 'completed', code: '1', outputs: [] };
      const input = [bare, whole].flatMap(({ body }) => [{ role: 'user', content: 'Compute.' }, ...body.output]);
      const { status } = await respond({ input: [...input, foreign, { role: 'user', content: 'Thanks.' }] }, answering);

      expect(status).toBe(200);
      const [sent] = listSent();
      expect(sent!.calls).toMatchObject([
        { name: 'router_code_interpreter', value: { code } },
        { value: { code } },
        { value: { code: '1' } },
      ]);
      expect(sent!.results.map(({ value }) => value)).toEqual([{ status: 'completed' }, { outputs }, { outputs: [] }]);
    });

    it('names settings that have no effect in the metadata', async () => {
      print42();
      const limited = { ...hosted, container: { type: 'auto', memory_limit: '4g' } };
      const named = async (tool: object) => stageOf(await respond({ tools: [tool] }, running, answering));
      expect(await named(limited)).toMatchObject({ calls: [{ adjusted: ['container.memory_limit'] }] });
      const own = { type: 'router:code_interpreter', parameters: { sleep_after_seconds: 60 } };
      expect(await named(own)).toMatchObject({ calls: [{ adjusted: ['sleep_after_seconds'] }] });
      expect(await named({ ...hosted, container: { type: 'auto', memory_limit: null } })).not.toMatchObject({
        calls: [{ adjusted: expect.anything() }],
      });
    });

    it('fails the hosted item if the container cannot be used', async () => {
      containers.failure = tooMany;
      const served = await respond({}, running, answering);
      const other = await respond({ tools: [{ type: 'router:code_interpreter' }] }, running, answering);
      expect(shownItems(served)[0]).toMatchObject({ status: 'failed', error: tooMany.message, outputs: null });
      expect(shownItems(other)[0]).toMatchObject({ status: 'failed', error: tooMany.message });
      expect(listSent()[1]!.results).toMatchObject([{ value: { error: tooMany.message } }]);
    });
  });
});

describe('code_interpreter', () => {
  const respond = (request: object, ...turns: Turn[]) => {
    lab.script('openai-chat', ...turns);
    return lab.respond('openai-chat', 'buffered', request);
  };
  const droppedBy = async (tool: object) => {
    const { body } = await respond({ tools: [tool] }, answering);
    return (body.router_metadata!.params as { dropped_fields?: string[] }).dropped_fields ?? [];
  };

  it('uses the container that it names, with stored files', async () => {
    containers.storedFiles.add('file_w1');
    await respond({ tools: [{ ...hosted, container: 'mine' }] }, running, answering);
    await respond({ tools: [{ ...hosted, container: { type: 'auto', file_ids: ['file_w1'] } }] }, running, answering);
    expect(containers.opened).toMatchObject([{ id: 'mine' }, { fileIds: ['file_w1'] }]);
    const container = { type: 'auto', file_ids: ['file_w2'] };
    const { status, body } = await respond({ tools: [{ ...hosted, container }] });
    expect([status, body.error?.message]).toEqual([400, expect.stringContaining('file_w2')]);
  });

  it('is left out if only a provider has its container or its files, or there is no sandbox', async () => {
    const name = 'tools[0] (code_interpreter)';
    expect(await droppedBy({ ...hosted, container: 'cntr_1' })).toContain(name);
    expect(await droppedBy({ ...hosted, container: { type: 'auto', file_ids: ['file-abc'] } })).toContain(name);
    containers.problem = 'Install bubblewrap.';
    expect(await droppedBy(hosted)).toContain(name);
  });

  it('runs at the provider where it has the tool', async () => {
    const native = await openToolLab({}, {}, { containers });
    native.script('openai-responses', answering);
    await native.respond('openai-responses', 'buffered', { tools: [hosted] });
    expect((native.takeRequests()[0]!.body as { tools: object[] }).tools).toEqual([hosted]);
    await native.close();
  });

  it('says that a program did not end, and what a timeout is', async () => {
    containers.run = async () => ({ stdout: '1', outcome: { type: 'timeout' } });
    const served = await respond({ tools: [{ type: 'router:code_interpreter' }] }, running, answering);
    expect(shownItems(served)[0]).toMatchObject({
      stdout: '1',
      exitCode: 124,
      stderr: 'The program did not end within 120000 ms.',
    });
  });
});
