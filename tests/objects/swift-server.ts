import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { S3Client, type S3Place, s3Times } from '../../src/platform/objects/s3/s3-client.ts';
import { findFreePort } from '../../src/testing/free-port.ts';
import { patient } from '../../src/testing/patience.ts';

/** An S3 server that others have written: OpenStack Swift, from the packages of Debian. */
export interface SwiftServer extends AsyncDisposable {
  place: S3Place;
}

const services = ['account', 'container', 'object'] as const;
const programs = [...services, 'proxy'].map((name) => `/usr/bin/swift-${name}-server`);
const START_MS = patient(60_000);

/**
 * Starts Swift with its S3 API and an empty bucket, without copies of the data.
 *
 * @returns `skipped`: what is missing to start it
 * @throws if it is installed and does not start
 */
export async function startSwift(): Promise<SwiftServer | { skipped: string }> {
  const missing = [...programs, '/usr/bin/memcached'].find((path) => !existsSync(path));
  if (missing !== undefined) {
    return {
      skipped: `${missing} is missing: apt-get install swift-proxy swift-account swift-container swift-object memcached`,
    };
  }
  const folder = mkdtempSync(join(tmpdir(), 'headgate-swift-'));
  const devices = join(folder, 'devices');
  mkdirSync(join(devices, 'd1'), { recursive: true });
  const ports = await findPorts(['memcached', 'proxy', ...services]);
  const write = (name: string, lines: string): string => {
    const path = join(folder, name);
    writeFileSync(path, lines);
    return path;
  };
  const { username } = userInfo();
  const usual = (name: string) =>
    `[DEFAULT]\nswift_dir = ${folder}\nuser = ${username}\nbind_ip = 127.0.0.1\nbind_port = ${ports.get(name)}\nworkers = 0\n`;
  write(
    'swift.conf',
    '[swift-hash]\nswift_hash_path_suffix = a\nswift_hash_path_prefix = b\n[storage-policy:0]\nname = p\ndefault = yes\n',
  );
  for (const name of services) {
    write(
      `${name}-server.conf`,
      `${usual(name)}devices = ${devices}\nmount_check = false\n[pipeline:main]\npipeline = ${name}-server\n[app:${name}-server]\nuse = egg:swift#${name}\n`,
    );
  }
  write(
    'proxy-server.conf',
    `${usual('proxy')}[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck cache listing_formats bulk s3api tempauth slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:healthcheck]
use = egg:swift#healthcheck
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:${ports.get('memcached')}
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:bulk]
use = egg:swift#bulk
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
`,
  );
  const rings = services.map(
    (name) =>
      `b = RingBuilder(4, 1, 0)\nb.add_dev({'id': 0, 'region': 1, 'zone': 1, 'ip': '127.0.0.1', 'port': ${ports.get(name)}, 'device': 'd1', 'weight': 1, 'replication_ip': '127.0.0.1', 'replication_port': ${ports.get(name)}, 'meta': ''})\nb.rebalance()\nb.get_ring().save('${folder}/${name}.ring.gz')\n`,
  );
  execFileSync('/usr/bin/python3', ['-c', `from swift.common.ring import RingBuilder\n${rings.join('')}`], {
    stdio: 'ignore',
  });

  const children: ChildProcess[] = [];
  const start = (program: string, options: readonly string[]): void => {
    children.push(spawn(program, options, { stdio: 'ignore', env: { PATH: '/usr/bin:/bin' }, cwd: folder }));
  };
  const killNow = (): void => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.once('exit', killNow); // the server was not closed
  start('/usr/bin/memcached', [
    '-l',
    '127.0.0.1',
    '-p',
    String(ports.get('memcached')),
    '-U',
    '0',
    '-m',
    '16',
    '-u',
    username,
  ]);
  for (const name of [...services, 'proxy'])
    start(`/usr/bin/swift-${name}-server`, [join(folder, `${name}-server.conf`)]);
  const place: S3Place = {
    endpoint: `http://127.0.0.1:${ports.get('proxy')}`,
    region: 'us-east-1',
    bucket: 'headgate',
    prefix: '',
    accessKeyId: 'test:tester',
    secretAccessKey: 'testing',
    pathStyle: true,
  };
  const close = async (): Promise<void> => {
    process.off('exit', killNow);
    const ended = children.map((child) =>
      child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined,
    );
    killNow();
    await Promise.all(ended);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await createBucket(place, children);
  } catch (error) {
    await close();
    throw error;
  }
  return { place, [Symbol.asyncDispose]: close };
}

async function findPorts(names: readonly string[]): Promise<Map<string, number>> {
  const ports = new Map<string, number>();
  for (const name of names) {
    let port = await findFreePort();
    while ([...ports.values()].includes(port)) port = await findFreePort();
    ports.set(name, port);
  }
  return ports;
}

/** Creates the bucket as soon as all servers respond. */
async function createBucket(place: S3Place, children: readonly ChildProcess[]): Promise<void> {
  const client = new S3Client(place, { ...s3Times, tries: 1 });
  for (const deadline = Date.now() + START_MS; ; ) {
    try {
      return await client.send({ method: 'PUT' }, async ({ body }) => void (await body.dump()));
    } catch (error) {
      if (Date.now() > deadline || children.some(({ exitCode }) => exitCode !== null)) {
        throw new Error('Swift does not start.', { cause: error });
      }
      await delay(100);
    }
  }
}
