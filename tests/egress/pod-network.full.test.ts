import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { checkPodNetwork } from '../../src/cli/checks/pod-network.ts';
import { createEgress } from '../../src/compose/create-egress.ts';
import { openPodProxies } from '../../src/compose/open-pod-proxies.ts';
import { runShell, testLimits } from '../../src/platform/sandbox/contract.ts';
import {
  createKubernetesDriver,
  type KubernetesSettings,
} from '../../src/platform/sandbox/kubernetes/kubernetes-driver.ts';
import { canRunPods, startTestCluster, writeKubeconfig } from '../../src/testing/test-cluster.ts';
import { startEgressLab } from './egress-lab.ts';

const problem = canRunPods();

if (problem !== undefined) {
  process.stderr.write(`the network of pods: skipped. ${problem}\n`);
  describe.skip('the network of pods', () => it(problem, () => {}));
} else {
  const [cluster, lab] = await Promise.all([startTestCluster(), startEgressLab()]);
  const folder = mkdtempSync(join(tmpdir(), 'headgate-kubeconfig-'));
  const kubeconfig = join(folder, 'config');
  writeFileSync(kubeconfig, writeKubeconfig(cluster));
  const resources = new AsyncDisposableStack();
  const openProxy = await openPodProxies(
    { host: '127.0.0.1', port: 0, address: '127.0.0.1', log: () => {} },
    resources,
  );
  const openEgress = createEgress({ outbound: lab.outbound, counts: lab.counts, log: () => {}, openProxy });
  const openDriver = (settings: Partial<KubernetesSettings> = {}) =>
    createKubernetesDriver({ kubeconfig, image: 'example.org/sandbox', home: 'disk', ...settings }, 'network');
  const driver = openDriver();
  afterEach(() => {
    cluster.policies.clear();
    cluster.enforcesPolicies = true;
  });
  afterAll(async () => {
    await driver.close();
    await resources.disposeAsync();
    await cluster.close();
    await lab[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });
  const openNetwork = () => openEgress({ name: 'n', workspaceId: 'w', allowedDomains: ['files.example.org'] });
  const findPods = (sandbox: string) =>
    [...cluster.pods.values()].filter(({ body }) => body.metadata.annotations['headgate.sandbox'] === sandbox);

  describe('the network of pods', () => {
    it('is the egress proxy with credentials of the pod, and nothing else', async () => {
      const { network, close } = await openNetwork();
      const { username, password, port } = new URL(network.proxyUrl!);
      const sandbox = await driver.start({ name: 'reaches', limits: testLimits, network });
      const [pod] = findPods('reaches');
      const { name, uid, labels } = pod!.body.metadata;
      expect(cluster.policies.get(name!)).toMatchObject({
        metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }] },
        spec: {
          podSelector: { matchLabels: { 'headgate.egress': labels['headgate.egress'] } },
          policyTypes: ['Egress'],
          egress: [{ to: [{ ipBlock: { cidr: '127.0.0.1/32' } }], ports: [{ protocol: 'TCP', port: Number(port) }] }],
        },
      });
      const curl = (url: string) => runShell(sandbox, `curl -sS ${url}`);
      expect(await curl('http://files.example.org/a')).toBe('GET files.example.org /a');
      expect(await curl('http://other.example.org/')).toContain('is not among the allowed_domains');
      expect(await curl('-p http://files.example.org/tunnel')).toBe('GET files.example.org /tunnel');
      expect(await curl('-k https://files.example.org/tls')).toBe('GET files.example.org /tls');
      const python = 'import urllib.request as r; print(r.urlopen("http://files.example.org/py").read().decode())';
      expect(await runShell(sandbox, `python3 -c '${python}'`)).toBe('GET files.example.org /py\n');
      expect(await runShell(sandbox, `curl -s --noproxy '*' http://files.example.org/ || echo none`)).toBe('none\n');
      const started = await sandbox.start({ command: 'curl -sS http://files.example.org/started' });
      expect((await started.stream.setEncoding('utf8').toArray()).join('')).toBe('GET files.example.org /started');
      await close();
      expect(await curl('-o /dev/null -w "%{http_code}" http://files.example.org/')).toBe('407');
      await sandbox.stop();
      expect([...cluster.policies.keys()]).toEqual(['headgate-sandboxes']);
      // Services of a cluster log the paths of requests, and many can read pods.
      const seen = JSON.stringify([cluster.requests, pod!.body]);
      for (const secret of [username, password]) expect(seen).not.toContain(secret);
    });

    it('is permitted by the labels of the gateway, if it runs in the cluster', async () => {
      const gatewayPods = { labels: { app: 'headgate' }, namespace: 'gateways' };
      const own = openDriver({ gatewayPods });
      const { network, close } = await openNetwork();
      await own.start({ name: 'labels', limits: testLimits, network });
      const [pod] = findPods('labels');
      expect(cluster.policies.get(pod!.body.metadata.name!)!.spec.egress).toEqual([
        {
          to: [
            {
              podSelector: { matchLabels: { app: 'headgate' } },
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'gateways' } },
            },
          ],
          ports: [{ protocol: 'TCP', port: expect.any(Number) }],
        },
      ]);
      await own.close();
      await close();
    });

    it('is missing in pods of other sandboxes', async () => {
      const sandbox = await driver.start({ name: 'none', limits: testLimits });
      expect([...cluster.policies.keys()]).toEqual(['headgate-sandboxes']);
      const { network, close } = await openNetwork();
      const { port } = new URL(network.proxyUrl!);
      expect(
        await runShell(sandbox, `env | grep -i proxy; (: <>/dev/tcp/127.0.0.1/${port}) 2>/dev/null || echo closed`),
      ).toBe('closed\n');
      await close();
      await sandbox.stop();
    });

    it('fails the start of a pod that cannot reach the proxy, and removes the pod', async () => {
      const network = { proxyUrl: 'http://user:password@127.0.0.1:1' };
      const slow = driver.start({ name: 'lost', limits: testLimits, network });
      await expect(slow).rejects.toMatchObject({
        problem: 'unavailable',
        message:
          'The pod of the sandbox cannot connect to the egress proxy at 127.0.0.1, port 1 (tools.sandbox.kubernetes.egress).',
      });
      expect(findPods('lost')).toEqual([]);
    });

    it('is checked by `headgate doctor`', async () => {
      const probe = createServer().listen(0, '127.0.0.1');
      await once(probe, 'listening');
      const { port } = probe.address() as AddressInfo; // listens on TCP
      const egress = { host: '127.0.0.1', port, address: '127.0.0.1' };
      expect(await checkPodNetwork(driver, egress)).toBeUndefined(); // as if the gateway were running
      probe.close();
      await once(probe, 'close');
      expect(await checkPodNetwork(driver, egress)).toBeUndefined();
      cluster.enforcesPolicies = false;
      expect(await checkPodNetwork(driver, egress)).toContain('does not enforce NetworkPolicies');
      expect([...findPods('doctor-network'), ...findPods('doctor-isolated')]).toEqual([]);
      await expect(checkPodNetwork(driver, { ...egress, host: '192.0.2.1' })).rejects.toThrow('EADDRNOTAVAIL');
    });

    it.each([
      ['permits traffic', { egress: [{}] }],
      ['selects other pods', { podSelector: { matchLabels: { app: 'other' } } }],
      ['leaves the egress out', { policyTypes: ['Ingress'] }],
    ])('and pods do not start if the default policy %s', async (_, changed) => {
      await driver.probe();
      const policy = cluster.policies.get('headgate-sandboxes')!;
      cluster.policies.set('headgate-sandboxes', { ...policy, spec: { ...policy.spec, ...changed } });
      const message = /The NetworkPolicy headgate-sandboxes in the namespace sandboxes does not block/;
      expect(await driver.probe()).toMatch(message);
      await expect(driver.start({ name: 'open', limits: testLimits })).rejects.toThrow(message);
      expect(findPods('open')).toEqual([]);
    });
  });
}
