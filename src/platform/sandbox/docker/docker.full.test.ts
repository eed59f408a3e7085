import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EgressLab, type LabProxy, startEgressLab } from '../../../../tests/egress/egress-lab.ts';
import { type ContainerService, startContainerService } from '../../../testing/container-service.ts';
import { writeProxyEnvironment } from '../network-relay.ts';
import type { Sandbox } from '../sandbox.ts';
import { runCommand, runShell, testLimits, testPort, testSandboxes } from '../contract.ts';
import { createDockerDriver } from './docker-driver.ts';
import { EngineClient } from './engine-client.ts';

const service = await startContainerService();

if ('skipped' in service) {
  process.stderr.write(`sandboxes: docker: skipped. ${service.skipped}\n`);
  describe.skip('sandboxes: docker', () => it(service.skipped, () => {}));
} else {
  afterAll(() => service.stop());
  testSandboxes('docker', { open: () => createDockerDriver(service, 'contract'), hasPerl: false });
  describe('the docker driver', () => testDriver(service));
  describe('the network of a container', () => testNetwork(service));
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
        PidsLimit: 73,
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

/** Prints what a server on the loopback of the container sends, or that the connection fails. */
const ask = (address: string, request: string): string =>
  `(exec 3<>/dev/tcp/${address} && printf '${request}' >&3 && cat <&3) 2>/dev/null || echo closed`;
const get = (url: string): string => `GET ${url} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n`;

function testNetwork({ socket, image, perlImage }: ContainerService): void {
  const driver = createDockerDriver({ socket, image: perlImage }, randomUUID());
  let lab: EgressLab;
  let proxy: LabProxy;
  let sandbox: Sandbox;
  beforeAll(async () => {
    lab = await startEgressLab();
    proxy = await lab.open(['files.example.org']);
    sandbox = await driver.start({ name: 'network', limits: testLimits, network: { proxySocket: proxy.socketPath } });
  });
  afterAll(async () => {
    await driver.close();
    await proxy.close();
    await lab[Symbol.asyncDispose]();
  });

  testPort(() => sandbox);
  const request = (url: string): Promise<string> => runShell(sandbox, ask('127.0.0.1/3128', get(url)));

  it('reaches allowed hosts through the proxy, and no others', async () => {
    expect(await request('http://files.example.org/a')).toMatch(
      /^HTTP\/1.1 200 OK\r\n[\s\S]*GET files.example.org \/a/,
    );
    const answers = await Promise.all([1, 2, 3, 4].map((each) => request(`http://files.example.org/${each}`)));
    expect(answers.map((answer) => answer.match(/GET .*\/\d/)?.[0])).toEqual(
      [1, 2, 3, 4].map((each) => expect.stringContaining(`GET files.example.org /${each}`)),
    );
    const reached = lab.requests.length;
    expect(await request('http://other.example.org/')).toContain('403 Forbidden');
    expect(await request('http://127.0.0.1/')).toContain('403 Forbidden');
    expect(lab.requests.length).toBe(reached);
  });

  it('passes large bodies', async () => {
    lab.answer = (_, response) => void response.end(Buffer.alloc(3_000_000, 'x'));
    expect(
      await runShell(sandbox, `{ ${ask('127.0.0.1/3128', get('http://files.example.org/'))}; } | tr -cd x | wc -c`),
    ).toBe('3000000\n');
  });

  it('has nothing but the loopback, and the variables of the proxy', async () => {
    const host = createServer((connection) => connection.end('a service of the host')).listen(0, '127.0.0.1');
    await once(host, 'listening');
    const { port } = host.address() as AddressInfo; // listens on TCP
    expect(await runShell(sandbox, ask(`127.0.0.1/${port}`, ''))).toBe('closed\n');
    expect(await runShell(sandbox, ask('93.184.216.34/80', ''))).toBe('closed\n');
    expect(await runShell(sandbox, 'ls /sys/class/net; grep -c . /proc/net/route')).toBe('lo\n1\n');
    host.close();
    expect(await runShell(sandbox, 'env | grep -i proxy | sort')).toBe(
      `${Object.entries(writeProxyEnvironment())
        .map(([name, value]) => `${name}=${value}\n`)
        .sort()
        .join('')}`,
    );
  });

  it('is absent without a policy', async () => {
    const closed = await driver.start({ name: 'closed', limits: testLimits });
    expect(await runShell(closed, `env | grep -i proxy; ls /run; ${ask('127.0.0.1/3128', '')}`)).toBe('closed\n');
  });

  it('says what is missing', async () => {
    const bare = createDockerDriver({ socket, image }, randomUUID());
    const network = { proxySocket: proxy.socketPath };
    await expect(bare.start({ name: 'bare', limits: testLimits, network })).rejects.toMatchObject({
      problem: 'unavailable',
      message: 'The image of the sandbox has none of Perl, Python 3 and Node, one of which a network_policy needs.',
    });
    const lost = { proxySocket: join(lab.folder, 'lost.sock') };
    await expect(driver.start({ name: 'lost', limits: testLimits, network: lost })).rejects.toMatchObject({
      problem: 'unavailable',
      message: 'The socket of the network proxy does not exist.',
    });
    await bare.close();
  });

  it('ends with the proxy', async () => {
    await proxy.close();
    expect(await request('http://files.example.org/')).toMatch(/^(closed\n)?$/);
  });
}
