import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type ContainerService, startContainerService } from '../../../testing/container-service.ts';
import { runCommand, runShell, testLimits, testSandboxes } from '../contract.ts';
import { createDockerDriver } from './docker-driver.ts';
import { EngineClient } from './engine-client.ts';

const service = await startContainerService();

if ('skipped' in service) {
  process.stderr.write(`sandboxes: docker: skipped. ${service.skipped}\n`);
  describe.skip('sandboxes: docker', () => it(service.skipped, () => {}));
} else {
  afterAll(() => service.stop());
  testSandboxes('docker', { open: () => createDockerDriver(service, 'contract') });
  describe('the docker driver', () => testDriver(service));
}

interface Summary {
  Id: string;
  State: string;
}

function testDriver({ socket, image }: ContainerService): void {
  const client = new EngineClient(socket);
  const list = async (gateway: string): Promise<Summary[]> => {
    const filters = encodeURIComponent(JSON.stringify({ label: [`headgate.gateway=${gateway}`] }));
    return (await client.call('GET', `/containers/json?all=true&filters=${filters}`)) as Summary[];
  };

  it('says what to do without a service and without the image', async () => {
    const missing = createDockerDriver({ socket: '/nonexistent/docker.sock', image }, 'probe');
    expect(await missing.probe()).toBe(
      'The container service at /nonexistent/docker.sock does not respond (ENOENT). Start Docker or "podman system service", and set tools.sandbox.docker.socket (now /nonexistent/docker.sock).',
    );
    const start = { name: 'a', limits: testLimits };
    await expect(missing.start(start)).rejects.toMatchObject({ problem: 'unavailable' });
    const other = createDockerDriver({ socket, image: 'headgate-no-such-image' }, 'probe');
    expect(await other.probe()).toBe(
      'The image headgate-no-such-image is not on this host. Run "docker pull headgate-no-such-image", or set tools.sandbox.docker.image.',
    );
    await expect(other.start(start)).rejects.toMatchObject({ problem: 'unavailable' });
  });

  it('confines its containers', async () => {
    const gateway = randomUUID();
    const driver = createDockerDriver({ socket, image }, gateway);
    const sandbox = await driver.start({ name: 'confined', limits: testLimits });
    const [{ Id }] = (await list(gateway)) as [Summary];
    expect(await client.call('GET', `/containers/${Id}/json`)).toMatchObject({
      Config: { User: '1000:1000', Labels: { 'headgate.sandbox': 'confined' } },
      HostConfig: {
        NetworkMode: 'none',
        ReadonlyRootfs: true,
        Privileged: false,
        PidsLimit: 72,
        Memory: (256 + 64 + 8) * 2 ** 20,
      },
    });
    expect(
      await runShell(sandbox, 'id -u; id -g; grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status'),
    ).toMatch(
      /^1000\n1000\nCapBnd:\t0+\nCapEff:\t0+\nNoNewPrivs:\t1\nSeccomp:\t2\n$|^1000\n1000\nCapEff:\t0+\nCapBnd:\t0+\nNoNewPrivs:\t1\nSeccomp:\t2\n$/,
    );
    expect(
      await runShell(sandbox, 'ls /sys/class/net; touch /file 2>&1 || true; ls /var/run/docker.sock 2>&1 || true'),
    ).toMatch(/^lo\n.*Read-only file system\n.*No such file or directory\n$/);
    await runCommand(sandbox, 'kill -9 -1');
    expect(await runShell(sandbox, 'echo on')).toBe('on\n');
    await driver.close();
    expect(await list(gateway)).toEqual([]);
  });

  it('ends with its process, and removes what a killed one has left', async () => {
    const gateway = randomUUID();
    const script = `
      import { createDockerDriver } from '${join(import.meta.dirname, 'docker-driver.ts')}';
      const driver = createDockerDriver(${JSON.stringify({ socket, image })}, '${gateway}');
      const sandbox = await driver.start({ name: 'orphan', limits: ${JSON.stringify(testLimits)} });
      await sandbox.exec({
        command: 'sleep 1000 & echo begun',
        timeoutMs: 60000,
        maxOutputBytes: 1000,
        signal: new AbortController().signal,
      });
      process.stdout.write('begun');
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout!, 'data');
    const driver = createDockerDriver({ socket, image }, gateway);
    await driver.removeLeftovers();
    expect((await list(gateway)).map(({ State }) => State)).toEqual(['running']);

    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    await expect.poll(async () => (await list(gateway)).map(({ State }) => State)).not.toContain('running');
    await driver.removeLeftovers();
    expect(await list(gateway)).toEqual([]);
  });

  it('notices the end of a container', async () => {
    const gateway = randomUUID();
    const driver = createDockerDriver({ socket, image }, gateway);
    const sandbox = await driver.start({ name: 'ended', limits: testLimits });
    const [{ Id }] = (await list(gateway)) as [Summary];
    const ended = once(sandbox.ended, 'abort');
    await client.call('POST', `/containers/${Id}/kill?signal=KILL`);
    await ended;
    expect(sandbox.ended.reason).toMatchObject({ problem: 'crashed' });
    await driver.close();
  });
}
