import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { checkSandbox } from './sandbox.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'headgate-doctor-'));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

async function check(sandbox: object) {
  const { config } = loadConfig({ file: null, env: {}, cwd: dataDir });
  const tools = { ...config.tools, sandbox: { ...config.tools.sandbox, ...sandbox } };
  return checkSandbox({ config: { ...config, tools }, dataDir, file: undefined });
}

describe('the check of sandboxes', () => {
  it('reports an engine that does not respond, with what to do', async () => {
    const socket = join(dataDir, 'docker.sock');
    expect(await check({ driver: 'docker', docker: { socket, image: 'debian' } })).toMatchObject({
      status: 'fail',
      says: expect.stringContaining(socket),
      fix: expect.stringContaining('driver: off'),
    });
  });

  it('reports what limits sandboxes of bubblewrap', async () => {
    const { status, says } = await check({ driver: 'auto' });
    if (status === 'ok') expect(says).toMatch(/^bubblewrap works; .*cgroup v2/);
    else expect(status).toBe('warn'); // this host has no bubblewrap
  });

  it('reports a cluster without a configuration', async () => {
    const kubeconfig = join(dataDir, 'kubeconfig');
    const { config } = loadConfig({ file: null, env: {}, cwd: dataDir });
    const kubernetes = { ...config.tools.sandbox.kubernetes, kubeconfig };
    expect(await check({ driver: 'kubernetes', kubernetes })).toMatchObject({ status: 'fail', subject: 'sandbox' });
  });

  it('reports a simulation, and that commands are off', async () => {
    expect(await check({ driver: 'simulation' })).toMatchObject({
      status: 'ok',
      says: expect.stringMatching(/simulation/),
    });
    expect(await check({ driver: 'off' })).toMatchObject({ status: 'ok', says: expect.stringMatching(/^off/) });
  });
});
