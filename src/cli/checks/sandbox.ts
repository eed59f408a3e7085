import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBubblewrap } from '../../compose/create-bubblewrap.ts';
import { createSandboxDriver } from '../../compose/create-sandbox-driver.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { Finding } from './finding.ts';

/** Starts a sandbox with the driver of the configuration. Only probes the services of drivers that have one. */
export async function checkSandbox(loaded: Pick<LoadedConfig, 'config' | 'dataDir' | 'file'>): Promise<Finding[]> {
  const subject = 'sandbox';
  const { driver } = loaded.config.tools.sandbox;
  if (driver === 'off')
    return [{ status: 'ok', subject, says: 'off (tools.sandbox.driver), so models run no commands' }];
  if (driver !== 'auto' && driver !== 'bubblewrap') return [await probeDriver(loaded)];
  const folder = mkdtempSync(join(tmpdir(), 'headgate-doctor-')); // the data folder stays as it is
  chmodSync(folder, 0o711);
  const bubblewrap = createBubblewrap({ ...loaded, folder });
  try {
    const problem = await bubblewrap.probe();
    if (problem === undefined) return [{ status: 'ok', subject, says: 'bubblewrap works' }];
    return [
      {
        status: driver === 'auto' ? 'warn' : 'fail',
        subject,
        says: problem,
        fix: 'Until then, tools that run commands fail. To do without: tools.sandbox.driver: off.',
      },
    ];
  } finally {
    await bubblewrap.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function probeDriver({ config, dataDir }: Pick<LoadedConfig, 'config' | 'dataDir'>): Promise<Finding> {
  const { driver: name } = config.tools.sandbox;
  const chosen = await createSandboxDriver(config, dataDir);
  const problem = 'problem' in chosen ? chosen.problem : await chosen.driver.probe();
  if ('driver' in chosen) await chosen.driver.close();
  if (problem !== undefined) return { status: 'fail', subject: 'sandbox', says: problem };
  const works = name === 'simulation' ? 'a simulation, which runs no programs of this host' : `${name} responds`;
  return { status: 'ok', subject: 'sandbox', says: works };
}
