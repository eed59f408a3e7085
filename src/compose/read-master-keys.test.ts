import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError } from '../config/config-error.ts';
import { loadConfig } from '../config/load.ts';
import { readMasterKeys } from './read-master-keys.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-master-'));
afterAll(() => rmSync(folder, { recursive: true }));

const read = (secrets: object) => {
  const { current, previous } = readMasterKeys({ secrets }, folder);
  return [current.toString(), previous?.toString()];
};
const print = (text: string) => [process.execPath, '-e', `process.stdout.write(${JSON.stringify(text)})`];
const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

describe('the master key', () => {
  it('comes from the configuration, a file or a command, without white space at its ends', () => {
    expect(read({ master_key: ' a key ' })).toEqual([' a key ', undefined]);
    expect(read({ master_key_file: file('key', ' from a file\n') })).toEqual(['from a file', undefined]);
    expect(
      read({ master_key_command: print('from a command\n'), previous_master_key_file: file('key', 'old') }),
    ).toEqual(['from a command', 'old']);
    expect(read({ master_key: 'a', previous_master_key_command: print('b') })).toEqual(['a', 'b']);
  });

  it('is created in the data folder otherwise', () => {
    const [key] = read({});
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(read({})).toEqual([key, undefined]);
    expect(readFileSync(join(folder, 'master.key'), 'utf8').trim()).toBe(key);
    expect(statSync(join(folder, 'master.key')).mode & 0o777).toBe(0o600);
  });

  it.each<[string, object, string]>([
    [
      'a missing file',
      { master_key_file: '/none/key' },
      'The file /none/key (secrets.master_key_file) cannot be read (ENOENT)',
    ],
    ['an empty file', { master_key_file: file('empty', ' \n') }, 'is empty'],
    ['no program', { master_key_command: ['/none/program'] }, '/none/program failed (ENOENT)'],
    ['no output', { previous_master_key_command: print('') }, 'secrets.previous_master_key_command is empty'],
    ['a long output', { master_key_command: print('k'.repeat(70_000)) }, 'failed (ENOBUFS)'],
    [
      'an exit code',
      { master_key_command: [process.execPath, '-e', 'console.log("half-a-key"); process.exit(3)'] },
      'ended with exit code 3',
    ],
  ])('is an error with %s, which has no output', (_, secrets, says) => {
    let error: Error | undefined;
    try {
      read(secrets);
    } catch (thrown) {
      error = thrown as Error;
    }
    expect(error?.message).toContain(says);
    expect([error?.message, error?.cause, error?.stack].join()).not.toContain('half-a-key');
  });

  it('has one source', () => {
    const load = (secrets: object) => {
      const path = file('headgate.json', JSON.stringify({ secrets }));
      return () => loadConfig({ file: path, env: {}, flags: { data: folder } });
    };
    expect(load({ master_key_file: 'x', previous_master_key: 'y' })).not.toThrow();
    expect(load({ master_key: 'x', master_key_file: 'y' })).toThrow(ConfigError);
    expect(load({ master_key: 'x', master_key_file: 'y' })).toThrow('cannot be set beside master_key');
    expect(load({ previous_master_key_file: 'x', previous_master_key_command: ['y'] })).toThrow(ConfigError);
    expect(load({ master_key_command: [] })).toThrow(ConfigError);
  });
});
