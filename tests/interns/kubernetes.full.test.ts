import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openPodProxies } from '../../src/compose/open-pod-proxies.ts';
import { createKubernetesDriver } from '../../src/platform/sandbox/kubernetes/kubernetes-driver.ts';
import { canRunPods, startTestCluster, writeKubeconfig } from '../../src/testing/test-cluster.ts';
import { createTestIntern, openRuntimeLab, runIntern } from './runtime-lab.ts';

const problem = canRunPods({ hasNode: true });
const { signal } = new AbortController();
const credentials = { apiKey: 'unused' };

describe.skipIf(problem !== undefined)(`interns in Kubernetes${problem ? `: skipped. ${problem}` : ''}`, () => {
  it('start, use their tools through the egress proxy, and keep their files', async () => {
    const cluster = await startTestCluster();
    const folder = mkdtempSync(join(tmpdir(), 'headgate-kubeconfig-'));
    const kubeconfig = join(folder, 'config');
    writeFileSync(kubeconfig, writeKubeconfig(cluster));
    const address = '127.0.0.1';
    const lab = await openRuntimeLab(
      () => createKubernetesDriver({ kubeconfig, image: 'example.org/node', home: 'disk' }, 'interns'),
      (resources) => openPodProxies({ host: address, port: 0, address, log: () => {} }, resources),
    );
    try {
      const intern = createTestIntern();
      const runtime = lab.openRuntime();
      await runtime.start(intern, credentials, signal);
      const command = 'echo $((40+2)) >kept.txt; cat kept.txt; curl -s -o /dev/null -w %{http_code} http://example.org';
      const written = await runIntern(runtime, intern.id, `[[call shell ${JSON.stringify({ command })}]]`);
      expect(written.text).toContain('42');
      expect(written.text).toContain('403');
      await runtime.stop(intern.id);
      await runtime.start(intern, credentials, signal);
      expect((await runIntern(runtime, intern.id, '[[call read_file {"path": "kept.txt"}]]')).text).toContain('42');
      await runtime.destroy(intern.id, { acknowledgesLoss: false });
      await runtime.close();
      expect(cluster.pods.size).toBe(0);
      // The token of the control endpoints and the credentials of the proxy are in no path of a request.
      expect(cluster.requests.filter((request) => /HEADGATE_CONTROL_KEY|HTTP_PROXY/.test(request))).toEqual([]);
    } finally {
      await lab.close();
      await cluster.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
