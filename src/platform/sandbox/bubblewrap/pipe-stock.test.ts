import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { inputName, pipeNames } from './agent.ts';
import { NamedPipes } from './named-pipes.ts';
import { PipeStock } from './pipe-stock.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-pipes-'));
const stocked = join(folder, 'stock');
const control = join(folder, 'control');
for (const path of [stocked, control]) mkdirSync(path);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('creates pipes again for the command after one whose pipes could not be created', async () => {
  writeFileSync(join(stocked, '7'), ''); // as on a full disk, one of the pipes cannot be created
  const stock = new PipeStock(stocked, true);
  const pipes = new NamedPipes(control, stock);
  await expect(pipes.take()).rejects.toMatchObject({ problem: 'disk' });
  expect(readdirSync(stocked)).toEqual([]);
  const numbers = await Promise.all(Array.from({ length: 30 }, () => pipes.take()));
  expect(numbers).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
  await pipes.createInput(30);
  const statusOf = (name: string) => lstatSync(join(control, name));
  for (const name of numbers.flatMap((number) => Object.values(pipeNames(number)))) {
    expect(statusOf(name).isFIFO()).toBe(true);
    expect(statusOf(name).mode & 0o777).toBe(0o622);
  }
  expect(statusOf(inputName(30)).mode & 0o777).toBe(0o644);
  await stock.close();
});

it('removes the pipes of a command that cannot be placed', async () => {
  const stock = new PipeStock(stocked, false);
  mkdirSync(stocked, { recursive: true });
  const pipes = new NamedPipes(join(folder, 'missing'), stock);
  await expect(pipes.take()).rejects.toMatchObject({ problem: 'disk' });
  await stock.close();
  const names = readdirSync(stocked);
  expect(names).not.toContain('0');
  expect(names).toContain('3');
});
