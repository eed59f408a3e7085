import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadConfig } from '../config/load.ts';
import { runCommand, testLimits } from '../platform/sandbox/contract.ts';
import { createSandboxDriver } from './create-sandbox-driver.ts';

/** A file below `/usr`, which sandboxes see, that most systems have. */
const visible = '/usr/lib/os-release';
let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'headgate-driver-'));
  chmodSync(dataDir, 0o711);
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

it.skipIf(!existsSync(visible))('hides the configuration file from commands', async ({ skip }) => {
  const { config } = loadConfig({ file: null, env: {}, cwd: dataDir, flags: { data: dataDir } });
  const read = async (file: string | undefined) => {
    const chosen = await createSandboxDriver({ config, dataDir, file });
    if (!('driver' in chosen)) throw new Error(chosen.problem);
    const { driver } = chosen;
    try {
      const problem = await driver.probe();
      if (problem !== undefined) skip(problem);
      const sandbox = await driver.start({ name: 'one', limits: testLimits });
      return (await runCommand(sandbox, `cat ${visible}`)).stdout.toString();
    } finally {
      await driver.close();
    }
  };
  expect(await read(undefined)).toMatch(/NAME=/);
  expect(await read(visible)).toBe('');
});

it('says that the operator has switched sandboxes off', async () => {
  const flags = { data: dataDir };
  const { config } = loadConfig({ file: null, env: {}, cwd: dataDir, flags });
  const off = { ...config, tools: { ...config.tools, sandbox: { ...config.tools.sandbox, driver: 'off' as const } } };
  expect(await createSandboxDriver({ config: off, dataDir, file: undefined })).toEqual({
    problem: expect.stringMatching(/tools\.sandbox\.driver/),
  });
});
