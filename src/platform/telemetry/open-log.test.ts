import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { expect, it } from 'vitest';
import { patient } from '../../testing/patience.ts';
import { openLog } from './open-log.ts';

it('hides secrets in every field of a line, and the line stays JSON', () => {
  const lines: string[] = [];
  const log = openLog({
    level: 'info',
    secrets: ['secret-one', 'with "quotes" and \\'],
    write: (line) => lines.push(line),
  });
  const cause = { 'secret-one': 'with "quotes" and \\' };
  log.write('store close failed', { err: new Error('bad key secret-one', { cause }) });
  log.write('catalog file skipped', { detail: cause });
  log.addSecrets(['secret-two']);
  log.write('catalog file skipped', { detail: 'secret-two, after secret-one' });
  const text = lines.join('');
  for (const hidden of ['secret-one', 'quotes', 'secret-two']) expect(text).not.toContain(hidden);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 50, msg: 'store close failed', err: { message: 'bad key [secret]' } },
    { level: 40, msg: 'catalog file skipped', detail: { '[secret]': '[secret]' } },
    { detail: '[secret], after [secret]' },
  ]);
});

it('writes the level of the message, or the one that is given, from its own level on', () => {
  const lines: string[] = [];
  const log = openLog({ level: 'info', secrets: [], fields: { worker: 1 }, write: (line) => lines.push(line) });
  log.write('request', {}, 'debug');
  log.write('request');
  expect(log.isEnabled('debug')).toBe(false);
  log.setLevel('debug');
  log.write('request', {}, 'debug');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 30, worker: 1, msg: 'request' },
    { level: 20, worker: 1, msg: 'request' },
  ]);
});

it.runIf(existsSync('/dev/full'))('does not end the process if the disk of the log is full', () => {
  const program = `
    import { openLog } from ${JSON.stringify(new URL('open-log.ts', import.meta.url).href)};
    openLog({ level: 'info', secrets: [] }).write('shutdown started');
    process.on('exit', (code) => process.stdout.write('ended with ' + code)); // when nothing is left to do`;
  const full = openSync('/dev/full', 'w');
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', full],
    timeout: patient(60_000),
  });
  closeSync(full);
  expect(String(stdout)).toBe('ended with 0');
});

it('names an error, and writes its details at debug only', () => {
  const lines: string[] = [];
  const log = openLog({ level: 'info', secrets: [], write: (line) => lines.push(line) });
  const err = Object.assign(new Error('no connection'), { code: 'ECONNREFUSED', errno: -111 });
  const read = () => lines.splice(0).map((line) => JSON.parse(line));
  log.write('bus disconnected', { err });
  log.write('request failed', { err }, 'error');
  expect(read().map((line) => line.err)).toEqual([
    { type: 'Error', message: 'no connection', code: 'ECONNREFUSED' },
    { type: 'Error', message: 'no connection', code: 'ECONNREFUSED' },
  ]);
  log.write('request failed', { err: new TypeError('a defect') }, 'error');
  expect(read()).toMatchObject([{ err: { message: 'a defect', stack: expect.stringContaining('open-log.test') } }]);
  log.setLevel('debug');
  log.write('bus disconnected', { err });
  expect(read()).toMatchObject([
    { level: 40, err: { message: 'no connection' } },
    { level: 20, msg: 'error details', of: 'bus disconnected', err: { errno: -111, stack: expect.any(String) } },
  ]);
});
