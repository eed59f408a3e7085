import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Turn } from '../clients/turn.ts';
import { createFakeContainers, tooMany } from './fake-containers.ts';
import { call, modes, openToolLab, shownItems, type ToolLab, wireNames } from './lab.ts';
import { readSent } from './sent.ts';

/* `router:text_editor` on every wire, with containers in memory. */

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

const tools = [{ type: 'router:text_editor' }];
const editing = (input: object): Turn => ({ calls: [call('router_text_editor', { path: 'a.txt', ...input })] });
const answering: Turn = { text: 'Done.' };

describe.each(wireNames)('router:text_editor on %s', (wire) => {
  it.each(modes)('creates, changes and shows a file, and replays the calls: %s', async (mode) => {
    lab.script(
      wire,
      editing({ command: 'create', file_text: 'one\ntwo\n' }),
      editing({ command: 'str_replace', old_str: 'two', new_str: 'three' }),
      editing({ command: 'insert', insert_line: 1, insert_text: 'two' }),
      editing({ command: 'view', view_range: [2, -1] }),
      answering,
    );
    const served = await lab.respond(wire, mode, { tools, session_id: 's1' });

    expect(containers.files.get('sess_s1/a.txt')!.toString()).toBe('one\ntwo\nthree\n');
    const about = { type: 'router:text_editor', status: 'completed', filePath: 'a.txt', container_id: 'sess_s1' };
    expect(shownItems(served)).toMatchObject([
      { ...about, command: 'create', files: [{ filename: 'a.txt' }] },
      { ...about, command: 'str_replace' },
      { ...about, command: 'insert' },
      { ...about, command: 'view', result: '2\ttwo\n3\tthree' },
      { type: 'message' },
    ]);
    const sent = lab.takeRequests().map((request) => readSent(wire, request));
    expect(sent[4]!.results[3]).toMatchObject({ value: { result: '2\ttwo\n3\tthree' } });

    lab.script(wire, answering);
    const input = [{ role: 'user', content: 'Edit.' }, ...served.body.output, { role: 'user', content: 'Thanks.' }];
    await lab.respond(wire, mode, { tools, input });
    const replayed = readSent(wire, lab.takeRequests()[0]!);
    expect(replayed.calls.map(({ value }) => value)).toEqual(sent[4]!.calls.map(({ value }) => value));
    expect(replayed.results.map(({ value }) => value)).toEqual(sent[4]!.results.map(({ value }) => value));
  });
});

describe('router:text_editor', () => {
  const edit = async (input: object) => {
    lab.script('openai-chat', editing(input), answering);
    const served = await lab.respond('openai-chat', 'buffered', { tools, session_id: 's1' });
    return shownItems(served)[0]!;
  };
  const store = (text: string | Buffer, path = 'a.txt') => containers.files.set(`sess_s1/${path}`, Buffer.from(text));

  it.each([
    ['a missing file', { command: 'view', path: 'b.txt' }, 'There is no file b.txt'],
    ['a text that is not there', { command: 'str_replace', old_str: 'x' }, 'is not in the file'],
    ['a text that is there twice', { command: 'str_replace', old_str: 'o' }, 'several times'],
    ['an empty text', { command: 'str_replace', old_str: '' }, 'is empty'],
    ['a line beyond the end', { command: 'insert', insert_line: 3, insert_text: 'x' }, 'has 2 lines'],
    ['a range beyond the end', { command: 'view', view_range: [3, 4] }, 'the file has 2 lines'],
    ['a path outside', { command: 'view', path: '/etc/passwd' }, 'relative to the home folder'],
    ['a path with ..', { command: 'view', path: 'a/../../b' }, '`..`'],
  ])('returns an error for %s', async (_, input, message) => {
    store('one\nto\n');
    containers.run = async () => ({ outcome: { type: 'exit', exit_code: 1 } });
    expect(await edit(input)).toMatchObject({ status: 'failed', error: expect.stringContaining(message) });
    expect(containers.files.get('sess_s1/a.txt')!.toString()).toBe('one\nto\n');
  });

  it('takes paths with the home folder, and lists folders', async () => {
    store('x');
    expect(await edit({ command: 'view', path: '/workspace/home/a.txt' })).toMatchObject({ result: '1\tx' });
    containers.run = async () => ({ stdout: './a.txt\n' });
    expect(await edit({ command: 'view', path: '/workspace/home' })).toMatchObject({ result: './a.txt\n' });
    expect(await edit({ command: 'view', path: "it's $(here)" })).toMatchObject({ result: './a.txt\n' });
    expect(containers.commands.map(({ environment }) => environment)).toEqual([
      { FOLDER: '.' },
      { FOLDER: "it's $(here)" },
    ]);
  });

  it('rejects files that are not text, or too large', async () => {
    store(Buffer.from([0xff, 0xfe]));
    expect(await edit({ command: 'view' })).toMatchObject({ error: expect.stringContaining('not UTF-8') });
    store(Buffer.alloc(1024 * 1024 + 1));
    expect(await edit({ command: 'view' })).toMatchObject({ error: expect.stringContaining('1048576 bytes') });
    store('a'.repeat(100_001));
    expect(await edit({ command: 'view' })).toMatchObject({ error: expect.stringContaining('view_range') });
  });

  it.each([
    { command: 'create' },
    { command: 'str_replace' },
    { command: 'insert', insert_line: 0 },
  ])('rejects %j, which is not complete', async (input) => {
    expect((await edit(input)).type).toBe('message');
  });

  it('shows why the container cannot be used', async () => {
    containers.failure = tooMany;
    expect(await edit({ command: 'view' })).toMatchObject({ error: tooMany.message, container_id: 'sess_s1' });
  });
});
