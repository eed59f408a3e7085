import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, expect, it } from 'vitest';
import { findFreePort, PORTS_PER_BLOCK } from './free-port.ts';

const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill();
});

/** Finds a port in another process that has the number of this worker, and keeps that process running. */
async function findPortElsewhere(): Promise<number> {
  const module = new URL('free-port.ts', import.meta.url).href;
  const script = `console.log(await (await import('${module}')).findFreePort()); setInterval(() => {}, 60_000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [text] = (await once(child.stdout, 'data')) as [Buffer];
  return Number(text.toString());
}

it('workers of other test runs have ports of other blocks', async () => {
  const ports = [await findFreePort(), await findPortElsewhere(), await findPortElsewhere()];
  expect(new Set(ports.map((port) => Math.floor(port / PORTS_PER_BLOCK))).size).toBe(3);
});
