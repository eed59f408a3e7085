import { expect, it } from 'vitest';
import { openLog } from './open-log.ts';

it('a secret does not leave, wherever it stands, and the line stays JSON', () => {
  const lines: string[] = [];
  const { log, addSecrets } = openLog({
    level: 'info',
    secrets: ['secret-one', 'with "quotes" and \\'],
    write: (line) => lines.push(line),
  });
  log.info({ err: new Error('bad key secret-one'), deep: { 'secret-one': 'with "quotes" and \\' } }, 'a secret-one');
  addSecrets(['secret-two']);
  log.info('secret-two, after secret-one');
  const text = lines.join('');
  for (const hidden of ['secret-one', 'quotes', 'secret-two']) expect(text).not.toContain(hidden);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: 'a [secret]', err: { message: 'bad key [secret]' } },
    { msg: '[secret], after [secret]' },
  ]);
});
