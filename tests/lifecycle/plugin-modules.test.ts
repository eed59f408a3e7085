import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { cleanUp, makeFolder, run, startGateway } from './gateway-process.ts';

afterEach(cleanUp);

const stray = `export default {
  id: 'stray',
  prepare(run) {
    void Promise.reject(new Error('nothing waits for this'));
    run.request.instructions = 'from ' + process.pid;
  },
};`;

it.each([
  [],
  ['--workers', '2'],
])('a module next to the configuration acts in every process, and a promise that it forgets ends none: %s', async (...args) => {
  const folder = makeFolder();
  writeFileSync(join(folder, 'stray.mjs'), stray);
  const config = { plugins: { modules: ['./stray.mjs'] }, server: { shutdown_grace_ms: 100 } };
  const gateway = await startGateway({ folder, config, args });
  for (const _ of [1, 2, 3, 4]) {
    const response = await gateway.post({ input: 'Hello', plugins: [{ id: 'stray' }] });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ instructions: expect.stringMatching(/^from \d+$/) });
  }
  await expect.poll(() => gateway.running.stderr + gateway.running.stdout).toContain('plugin promise rejected');
  expect(gateway.running.stdout + gateway.running.stderr).toContain('nothing waits for this');
  expect(await gateway.end()).toBe(0);
});

it.each([
  [],
  ['--workers', '2'],
])('a module that cannot be loaded ends the start with a message: %s', async (...args) => {
  const folder = makeFolder();
  writeFileSync(join(folder, 'broken.mjs'), 'export const nothing = 1;');
  const started = run({ folder, config: { plugins: { modules: ['./broken.mjs'] } }, args });
  expect(await started.ended).toBe(1);
  expect(started.stderr).toContain(`plugins.modules: ${join(folder, 'broken.mjs')} has no default export`);
});
