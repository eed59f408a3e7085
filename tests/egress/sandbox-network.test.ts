import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BubblewrapDriver } from '../../src/platform/sandbox/bubblewrap/bubblewrap-driver.ts';
import { chooseNetworkRelay, pythonRelay } from '../../src/platform/sandbox/network-relay.ts';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.ts';
import { type EgressLab, type LabProxy, startEgressLab } from './egress-lab.ts';
import { patient } from '../../src/testing/patience.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-network-'));
chmodSync(folder, 0o711); // sandboxes of root have another user
const limits = {
  memoryBytes: 2 ** 29,
  cpus: 1,
  processes: 100,
  diskBytes: 2 ** 26,
  diskEntries: 1000,
  temporaryBytes: 2 ** 24,
};
const plain = new BubblewrapDriver({ folder, hidden: [] });
const problem = await plain.probe();
await plain.close();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let lab: EgressLab;
let host: Server;
let usual: EgressLab['answer'];
beforeAll(async () => {
  lab = await startEgressLab();
  usual = lab.answer;
  chmodSync(lab.folder, 0o711);
  host = createServer((socket) => socket.end('a service of the host')).listen(0, '127.0.0.1');
  await once(host, 'listening');
});
afterAll(async () => {
  host.close();
  await lab[Symbol.asyncDispose]();
});
afterEach(() => {
  lab.answer = usual;
  lab.requests.length = 0;
  lab.dialed.length = 0;
});

const relays = [
  ['Perl', chooseNetworkRelay(true)],
  ['Python', { command: ['/usr/bin/python3', '-I', '-S', '-c', pythonRelay] }],
  ['Node', chooseNetworkRelay(false)],
] as const;

describe.skipIf(problem !== undefined)(
  `the network of a sandbox${problem ? `: cannot run here: ${problem}` : ''}`,
  () => {
    describe.each(relays)('with a relay in %s', (name, relay) => {
      let driver: BubblewrapDriver;
      let proxy: LabProxy;
      let sandbox: Sandbox;
      beforeAll(async () => {
        driver = new BubblewrapDriver({ folder, hidden: [], relay });
        proxy = await lab.open(['files.example.org', '*.pkg.example.org']);
        sandbox = await driver.start({
          name: `network-${name.toLowerCase()}`,
          limits,
          network: { proxySocket: proxy.socketPath },
        });
      });
      afterAll(async () => {
        await driver.close();
        await proxy.close();
      });
      const run = async (command: string): Promise<string> => {
        const { signal } = new AbortController();
        const { stdout, stderr, outcome } = await sandbox.exec({
          command,
          signal,
          timeoutMs: patient(60_000),
          maxOutputBytes: 2 ** 20,
        });
        return `${stdout}${stderr}[${outcome.type === 'exit' ? outcome.exitCode : 'timeout'}]`;
      };

      it('reaches allowed hosts with curl', async () => {
        expect(await run('curl -sS http://files.example.org/a?b')).toBe('GET files.example.org /a?b[0]');
        expect(await run('curl -sS http://x.y.pkg.example.org/')).toBe('GET x.y.pkg.example.org /[0]');
        await write('ca.pem', lab.certificate);
        expect(await run('curl -sS --cacert ca.pem https://files.example.org/tls')).toBe(
          'GET files.example.org /tls[0]',
        );
        expect(await run('curl -sSp --proxytunnel http://files.example.org/tunnel')).toBe(
          'GET files.example.org /tunnel[0]',
        );
      });

      it('reaches allowed hosts with Python', async () => {
        if ((await run('command -v python3')).endsWith('[1]')) return expect(await run('true')).toBe('[0]');
        await write('ca.pem', lab.certificate);
        const script = [
          'import os, ssl, urllib.request as u',
          'print(u.urlopen("http://files.example.org/1").read().decode())',
          'print(u.urlopen("https://files.example.org/2", context=ssl.create_default_context(cafile="ca.pem")).read().decode())',
        ].join('\n');
        expect(await run(`python3 -c '${script}'`)).toBe('GET files.example.org /1\nGET files.example.org /2\n[0]');
      });

      it('is refused other hosts, with a reason', async () => {
        const reason = 'other.example.org is not among the allowed_domains of this container.';
        expect(await run('curl -sS http://other.example.org/')).toBe(`${reason}\n[0]`);
        expect(await run('curl -sS https://other.example.org/')).toMatch(/response 403[\s\S]*\[56\]/);
        expect(await run('curl -sS http://169.254.169.254/latest/meta-data/')).toContain(
          'is not among the allowed_domains',
        );
        expect(await run('curl -sS http://files.example.org:8080/')).toContain('Port 8080 is closed.');
        expect(
          await run('curl -sSk --connect-to other.example.org:443:files.example.org:443 https://other.example.org/'),
        ).toMatch(/unrecognized name[\s\S]*\[35\]/);
        expect(lab.requests).toEqual([]);
      });

      it('has no other way out', async () => {
        const { port } = host.address() as { port: number };
        const attempts: Record<string, string> = {
          'a service of the host': `exec 3<>/dev/tcp/127.0.0.1/${port}`,
          'the metadata service': 'exec 3<>/dev/tcp/169.254.169.254/80',
          'a public address': 'exec 3<>/dev/tcp/93.184.216.34/80',
          UDP: 'exec 3<>/dev/udp/93.184.216.34/53 && echo x >&3',
          DNS: 'getent hosts files.example.org',
          'curl without the proxy': "curl -sS --noproxy '*' http://files.example.org/",
          'a route': '! grep -q "^[a-z0-9]*[^lo]\\s" /proc/net/route && false',
          'a raw socket': 'perl -MSocket -e "socket(S, PF_INET, SOCK_RAW, 1) or exit 1"',
          'a packet socket': 'perl -e "socket(S, 17, 3, 768) or exit 1"',
          'an abstract socket of the host': 'grep -q @ /proc/net/unix',
        };
        for (const [name, attempt] of Object.entries(attempts))
          expect(await run(`${attempt} 2>/dev/null`), name).not.toMatch(/\[0\]$/);
        expect(await run('ls /sys/class/net 2>/dev/null; grep -o "^ *[a-z0-9]*:" /proc/net/dev')).toBe('    lo:\n[0]');
      });

      it('carries large transfers in both directions at the same time', async () => {
        const content = randomBytes(8 * 1024 * 1024);
        lab.answer = (request, response) => {
          if (request.method === 'GET') response.end(content);
          else void buffer(request).then((body) => response.end(String(body.equals(content))));
        };
        const download = 'curl -sS http://files.example.org/ -o';
        expect(
          await run(`${download} a && curl -sS -T a http://files.example.org/ & ${download} b; wait; cmp a b`),
        ).toBe('true[0]');
        expect(
          await run(`for i in 1 2 3 4 5 6 7 8 9 10; do curl -sS http://files.example.org/ | cmp - a & done; wait`),
        ).toBe('[0]');
      });

      it('ends with the proxy, and its connections with the sandbox', async () => {
        lab.answer = () => {};
        const waiting = run('curl -sS http://files.example.org/ & exec sleep 60');
        waiting.catch(() => {}); // the sandbox ends meanwhile
        await expect.poll(() => lab.requests.length).toBe(1);
        const { socket } = lab.requests[0]!;
        await sandbox.stop();
        if (!socket.closed) await once(socket, 'close');
        await expect(waiting).rejects.toThrow();
      });

      async function write(path: string, content: string): Promise<void> {
        const entry = {
          path: Buffer.from(path),
          kind: 'file' as const,
          mode: 0o644,
          modifiedAtMs: Date.now(),
          content: (async function* () {
            yield Buffer.from(content);
          })(),
        };
        await sandbox.write(
          (async function* () {
            yield entry;
          })(),
        );
      }
    });

    it('does not start if the socket of the proxy does not exist', async () => {
      const driver = new BubblewrapDriver({ folder, hidden: [] });
      const spec = { name: 'lost', limits, network: { proxySocket: join(lab.folder, 'lost.sock') } };
      await expect(driver.start(spec)).rejects.toThrow();
      await driver.close();
    });

    it('is absent without a policy: no variables, no relay', async () => {
      const driver = new BubblewrapDriver({ folder, hidden: [] });
      const sandbox = await driver.start({ name: 'closed', limits });
      const { stdout } = await sandbox.exec({
        command:
          'env | grep -i proxy; ls /run; curl -sS http://files.example.org/ 2>&1; exec 3<>/dev/tcp/127.0.0.1/3128 && echo open',
        timeoutMs: patient(60_000),
        maxOutputBytes: 10_000,
        signal: new AbortController().signal,
      });
      expect(stdout.toString()).toMatch(/^headgate\ncurl: \(6\) .*\n$/);
      await driver.close();
    });
  },
);
