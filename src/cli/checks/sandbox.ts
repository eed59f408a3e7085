import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBubblewrap } from '../../compose/create-bubblewrap.ts';
import { createSandboxDriver } from '../../compose/create-sandbox-driver.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { SandboxDriver } from '../../platform/sandbox/sandbox.ts';
import type { Finding } from './finding.ts';
import { checkPodNetwork, type PodEgress } from './pod-network.ts';

const subject = 'sandbox';

const remedy = 'Until then, tools that run commands fail. To do without: tools.sandbox.driver: off.';

const works: Record<SandboxDriver['kind'], string> = {
  bubblewrap: 'bubblewrap works',
  docker: 'the engine responds and has the image',
  kubernetes: 'the cluster responds',
  simulation: 'a simulation, which runs no programs of this host',
};

/** Checks whether the driver of the configuration works. Starts sandboxes only with bubblewrap, and for the network of pods. */
export async function checkSandbox(loaded: Pick<LoadedConfig, 'config' | 'dataDir' | 'file'>): Promise<Finding> {
  const { driver: name } = loaded.config.tools.sandbox;
  if (name === 'off') return { status: 'ok', subject, says: 'off (tools.sandbox.driver), so models run no commands' };
  const folder = mkdtempSync(join(tmpdir(), 'headgate-doctor-')); // the data folder stays as it is
  chmodSync(folder, 0o711);
  try {
    if (name === 'auto' || name === 'bubblewrap') {
      const driver = createBubblewrap({ ...loaded, folder });
      const finding = await probe(driver, name === 'auto' ? 'warn' : 'fail');
      return finding.status === 'ok' ? { ...finding, says: `${finding.says}; ${driver.describeLimits()}` } : finding;
    }
    const chosen = await createSandboxDriver(loaded);
    if ('problem' in chosen) return { status: 'fail', subject, says: chosen.problem };
    const { egress } = loaded.config.tools.sandbox.kubernetes;
    return await probe(chosen.driver, 'fail', name === 'kubernetes' ? egress : undefined);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function probe(driver: SandboxDriver, status: 'warn' | 'fail', egress?: PodEgress): Promise<Finding> {
  try {
    const problem = (await driver.probe()) ?? (egress && (await checkPodNetwork(driver, egress)));
    if (problem === undefined && egress) {
      return {
        status: 'ok',
        subject,
        says: `${works[driver.kind]}, and only pods with a network reach the egress proxy`,
      };
    }
    return problem === undefined
      ? { status: 'ok', subject, says: works[driver.kind] }
      : { status, subject, says: problem, fix: remedy };
  } finally {
    await driver.close();
  }
}
