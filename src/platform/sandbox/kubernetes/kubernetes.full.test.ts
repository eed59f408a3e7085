import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { canRunPods, startTestCluster, writeKubeconfig } from '../../../testing/test-cluster.ts';
import { runCommand, runShell, testLimits, testSandboxes } from '../contract.ts';
import { createKubernetesDriver } from './kubernetes-driver.ts';

const reason = canRunPods();

if (reason !== undefined) {
  process.stderr.write(`sandboxes: kubernetes: skipped. ${reason}\n`);
  describe.skip('sandboxes: kubernetes', () => it(reason, () => {}));
} else {
  const cluster = await startTestCluster();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-kubeconfig-'));
  const kubeconfig = join(folder, 'config');
  writeFileSync(kubeconfig, writeKubeconfig(cluster));
  afterAll(async () => {
    await cluster.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const open = (gateway = 'contract', home: 'disk' | 'memory' = 'disk') =>
    createKubernetesDriver({ kubeconfig, image: 'example.org/sandbox', home }, gateway);
  // The pods of the tests have no limits of memory, and root has none of processes.
  testSandboxes('kubernetes', { open, hasKernelLimits: false });

  describe('the kubernetes driver', () => {
    it('confines its pods, and forbids them the network', async () => {
      const driver = createKubernetesDriver(
        { kubeconfig, image: 'example.org/sandbox', home: 'memory', runtimeClass: 'gvisor' },
        'confined',
      );
      const sandbox = await driver.start({ name: 'a', limits: testLimits });
      const [pod] = [...cluster.pods.values()].filter(
        ({ body }) => body.metadata.annotations['headgate.sandbox'] === 'a',
      );
      expect(pod!.body).toMatchObject({
        metadata: { labels: { 'app.kubernetes.io/managed-by': 'headgate', 'headgate.gateway': 'confined' } },
        spec: {
          runtimeClassName: 'gvisor',
          automountServiceAccountToken: false,
          activeDeadlineSeconds: expect.any(Number),
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
          containers: [
            {
              securityContext: {
                allowPrivilegeEscalation: false,
                capabilities: { drop: ['ALL'] },
                readOnlyRootFilesystem: true,
              },
              resources: { limits: { cpu: '1', memory: String((256 + 64 + 8) * 2 ** 20) } },
            },
          ],
          volumes: [
            { name: 'workspace', emptyDir: { sizeLimit: String(64 * 2 ** 20), medium: 'Memory' } },
            { name: 'temporary', emptyDir: { medium: 'Memory' } },
          ],
        },
      });
      expect(cluster.policies.get('headgate-sandboxes')).toMatchObject({
        spec: {
          podSelector: { matchLabels: pod!.body.metadata.labels['app.kubernetes.io/managed-by'] ? {} : undefined },
        },
      });
      expect(await runShell(sandbox, 'ulimit -u')).toBe('73\n');
      await runCommand(sandbox, 'kill -9 -1');
      expect(await runShell(sandbox, 'echo on')).toBe('on\n');
      await driver.close();
      expect(cluster.pods.has(pod!.body.metadata.name!)).toBe(false);
    });

    it('notices the end of a pod, and says why', async () => {
      const driver = open('ended');
      for (const [status, problem] of [
        [{ phase: 'Failed', reason: 'Evicted', message: 'too large' }, 'disk'],
        [{ phase: 'Failed', containerStatuses: [{ state: { terminated: { reason: 'OOMKilled' } } }] }, 'memory'],
        [{ phase: 'Failed', reason: 'DeadlineExceeded' }, 'crashed'],
      ] as const) {
        const sandbox = await driver.start({ name: `ends-${problem}`, limits: testLimits });
        const [pod] = [...cluster.pods.values()].filter(
          ({ body }) => body.metadata.labels['headgate.gateway'] === 'ended',
        );
        pod!.status = status;
        pod!.keeper!.kill('SIGKILL');
        await expect(runShell(sandbox, 'echo on')).rejects.toMatchObject({ problem });
        expect(sandbox.ended.aborted).toBe(true);
      }
      await driver.close();
    });

    it('reports a pod that cannot start, and removes it', async () => {
      const driver = open('broken');
      cluster.startStatus = {
        phase: 'Pending',
        containerStatuses: [{ state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } }],
      };
      await expect(driver.start({ name: 'b', limits: testLimits })).rejects.toMatchObject({
        problem: 'unavailable',
        message: 'The pod of the sandbox cannot start (ImagePullBackOff): no such image',
      });
      cluster.startStatus = undefined;
      expect(
        [...cluster.pods.values()].filter(({ body }) => body.metadata.labels['headgate.gateway'] === 'broken'),
      ).toEqual([]);
      await driver.close();
    });

    it('removes the pods of processes that are gone, and those that have ended', async () => {
      const driver = open('leftovers');
      const mine = await driver.start({ name: 'mine', limits: testLimits });
      await driver.start({ name: 'ended', limits: testLimits });
      await driver.start({ name: 'orphan', limits: testLimits });
      const named = (name: string) =>
        [...cluster.pods.values()].find(({ body }) => body.metadata.annotations['headgate.sandbox'] === name);
      named('ended')!.status = { phase: 'Succeeded' };
      const annotations = named('orphan')!.body.metadata.annotations;
      annotations['headgate.owner'] = annotations['headgate.owner']!.replace(/\d+$/, '999999999');
      await driver.removeLeftovers();
      expect([named('mine'), named('ended'), named('orphan')]).toEqual([expect.anything(), undefined, undefined]);
      expect(await runShell(mine, 'echo on')).toBe('on\n');
      await driver.close();
    });

    it.each<[string, { url?: string; token?: string; user?: string }, RegExp]>([
      ['a wrong token', { token: 'wrong' }, /does not let the gateway run sandboxes: Unauthorized/],
      ['no cluster', { url: 'http://127.0.0.1:1' }, /does not respond \(ECONNREFUSED\)/],
      ['a program for credentials', { user: 'exec: { command: aws }' }, /gets its credentials from a program/],
    ])('says what is wrong: %s', async (_, { url = cluster.url, token = cluster.token, user }, message) => {
      const path = join(folder, 'other');
      writeFileSync(path, writeKubeconfig({ url, token }, user));
      const driver = createKubernetesDriver({ kubeconfig: path, image: 'x', home: 'disk' }, 'probe');
      expect(await driver.probe()).toMatch(message);
      await expect(driver.start({ name: 'c', limits: testLimits })).rejects.toMatchObject({ problem: 'unavailable' });
    });

    it('says that there is no configuration', async () => {
      const driver = createKubernetesDriver({ kubeconfig: join(folder, 'none'), image: 'x', home: 'disk' }, 'probe');
      expect(await driver.probe()).toMatch(
        /^There is no kubeconfig file .*none, and the gateway does not run in a cluster\./,
      );
    });
  });
}
