import { lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { pipeNames } from './agent.ts';
import { NamedPipes } from './named-pipes.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-pipes-'));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('creates pipes again for the command after one whose pipes could not be created', async () => {
  const taken = join(folder, pipeNames(0).status);
  writeFileSync(taken, ''); // as on a full disk, one of the pipes cannot be created
  const pipes = new NamedPipes(folder, false);
  await expect(pipes.take()).rejects.toMatchObject({ problem: 'disk' });
  for (let number = 1; number < 20; number++) {
    expect(await pipes.take()).toBe(number);
    for (const name of Object.values(pipeNames(number))) expect(lstatSync(join(folder, name)).isFIFO()).toBe(true);
  }
});
