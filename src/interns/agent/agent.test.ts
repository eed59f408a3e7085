import { appendFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { Item } from './call-model.ts';
import { describeItems, MAX_CONTEXT, measureItems, splitConversation } from './compact.ts';
import { SessionStore } from './sessions.ts';
import { runTool } from './tools.ts';

const home = mkdtempSync(join(tmpdir(), 'headgate-agent-'));
afterAll(() => rmSync(home, { recursive: true }));
const user = (content: string): Item => ({ type: 'message', role: 'user', content });
const call = (call_id: string): Item => ({ type: 'function_call', call_id, name: 'shell', arguments: '{}' });
const result = (call_id: string, output: string): Item => ({ type: 'function_call_output', call_id, output });

describe('a conversation of the built-in agent', () => {
  it('is read again as it was stored, without a line that a crash cut off', async () => {
    const store = new SessionStore(home);
    const session = await store.open('a/b');
    await session.add([user('one'), call('1')]);
    const [file] = readdirSync(join(home, '.headgate/sessions'));
    appendFileSync(join(home, '.headgate/sessions', file!), '{"item":{"type":"mess');
    const again = await store.open('a/b');
    const interrupted = result('1', 'The call was interrupted before it had a result.');
    expect(again.items).toEqual([user('one'), call('1'), interrupted]);
    await again.replace([user('short')]);
    expect((await store.open('a/b')).items).toEqual([user('short')]);
    expect((await store.open('another')).items).toEqual([]);
  });

  it('stays whole while it is short', () => {
    expect(splitConversation([user('one'), user('two')])).toBeUndefined();
  });

  it('is split before a message of the person, never between a call and its result', () => {
    const long = 'x'.repeat(30_000);
    const items = Array.from({ length: 12 }, (_, index) => [
      user(`prompt ${index}`),
      call(String(index)),
      result(String(index), long),
    ]).flat();
    expect(measureItems(items)).toBeGreaterThan(MAX_CONTEXT);
    const { earlier, latest } = splitConversation(items)!;
    expect(latest[0]).toEqual(user('prompt 10'));
    expect([...earlier, ...latest]).toEqual(items);
    const oneTurn = [user('go'), ...items.filter(({ role }) => role !== 'user')];
    expect(splitConversation(oneTurn)!.latest[0]!.type).toBe('function_call');
    expect(describeItems(oneTurn).length).toBeLessThanOrEqual(200_000);
  });
});

describe('a tool of the built-in agent', () => {
  const { signal } = new AbortController();
  const run = (name: string, given: Record<string, unknown>, stop = signal) =>
    runTool({ name, arguments: given, home, signal: stop });

  it('writes, changes and reads files', async () => {
    await run('write_file', { path: 'a/b.txt', content: 'one two' });
    expect(await run('edit_file', { path: 'a/b.txt', old: 'two', new: 'three' })).toBe('The file is changed.');
    expect(await run('read_file', { path: 'a/b.txt' })).toBe('one three');
    expect(await run('edit_file', { path: 'a/b.txt', old: 'e', new: '' })).toContain('occurs 3 times');
    expect(await run('read_file', { path: 'missing' })).toContain('Error: ENOENT');
    expect(await run('read_file', {})).toBe('Error: path must be a string.');
  });

  it('runs commands without the variables of the agent, and bounds them', async () => {
    process.env.HEADGATE_CONTROL_KEY = 'hidden';
    expect(await run('shell', { command: 'echo "[$HEADGATE_CONTROL_KEY]"; echo no >&2; exit 3' })).toBe(
      '[]\n\n[stderr]\nno\n\n[exit code 3]',
    );
    delete process.env.HEADGATE_CONTROL_KEY;
    const long = await run('shell', { command: 'head -c 1000000 /dev/zero | tr "\\0" x' });
    expect(long.length).toBeLessThan(25_000);
    expect(await run('shell', { command: 'sleep 60', timeout_ms: 50 })).toContain('longer than 50 ms');
    const cancellation = new AbortController();
    const running = run('shell', { command: 'sleep 60' }, cancellation.signal);
    cancellation.abort(new Error('cancelled'));
    await expect(running).rejects.toThrow('cancelled');
  });
});
