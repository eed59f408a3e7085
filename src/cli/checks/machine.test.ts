import { expect, it } from 'vitest';
import { checkMasterKey } from './machine.ts';

const print = (text: string) => [process.execPath, '-e', `console.log(${JSON.stringify(text)})`];

it.each<[object, string, string]>([
  [{ master_key: 'k'.repeat(32) }, 'ok', 'configured'],
  [{ master_key: 'short' }, 'warn', 'configured, but short'],
  [{ master_key_command: print('k'.repeat(32)) }, 'ok', 'printed by a command'],
  [{ master_key_command: print('short') }, 'warn', 'printed by a command, but short'],
  [{ master_key_file: '/none/key' }, 'fail', 'cannot be read (ENOENT)'],
])('the master key of %j is %s: %s', async (secrets, status, says) => {
  const finding = await checkMasterKey({ secrets }, '/none');
  expect(finding).toMatchObject({ status, says: expect.stringContaining(says) });
});
