import { afterAll, describe, expect, it } from 'vitest';
import { createDockerDriver } from '../../src/platform/sandbox/docker/docker-driver.ts';
import { testLimits } from '../../src/platform/sandbox/contract.ts';
import { startContainerService } from '../../src/testing/container-service.ts';
import { createTestIntern, openRuntimeLab, runIntern } from './runtime-lab.ts';

const { signal } = new AbortController();
const credentials = { apiKey: 'unused' };
const service = await startContainerService({ hasNode: true });

if ('skipped' in service) {
  process.stderr.write(`interns in Docker: skipped. ${service.skipped}\n`);
  describe.skip('interns in Docker', () => it(service.skipped, () => {}));
} else {
  afterAll(() => service.stop());
  describe('interns in Docker', () => {
    it('start, use their tools, and keep their files', async () => {
      const lab = await openRuntimeLab(() =>
        createDockerDriver({ socket: service.socket, image: service.perlImage }, 'interns'),
      );
      try {
        const intern = createTestIntern();
        const runtime = lab.openRuntime();
        await runtime.start(intern, credentials, signal);
        const written = await runIntern(
          runtime,
          intern.id,
          '[[call shell {"command": "echo $((40+2)) >kept.txt; cat kept.txt"}]]',
        );
        expect(written.text).toContain('42');
        await runtime.stop(intern.id);
        await runtime.start(intern, credentials, signal);
        expect((await runIntern(runtime, intern.id, '[[call read_file {"path": "kept.txt"}]]')).text).toContain('42');
        await runtime.destroy(intern.id, { acknowledgesLoss: false });
        await runtime.close();
      } finally {
        await lab.close();
      }
    });

    it('name a program that the image lacks', async () => {
      const lab = await openRuntimeLab(() =>
        createDockerDriver({ socket: service.socket, image: service.perlImage }, 'interns'),
      );
      try {
        const program = { command: ['no-such-agent'], files: [] };
        const limits = { limits: testLimits, allowedDomains: [] };
        const runtime = lab.openRuntime({ settings: () => ({ ...limits, program }) });
        await expect(runtime.start(createTestIntern(), credentials, signal)).rejects.toThrow(
          /ended with code 127: .*no-such-agent: not found/,
        );
        await runtime.close();
      } finally {
        await lab.close();
      }
    });
  });
}
