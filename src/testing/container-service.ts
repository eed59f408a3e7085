import { execFileSync, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  readFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { patient } from './patience.ts';

export interface ContainerService {
  /** Unix socket of the Docker Engine API. */
  socket: string;
  /** An image with the tools of sandboxes. */
  image: string;
  /** The same with Perl. */
  perlImage: string;
  stop(): Promise<void>;
}

const IMAGE = 'headgate-test-sandbox';
const PERL_IMAGE = 'headgate-test-sandbox-perl';
const RETRY_MS = 50;
const TRIES = patient(50_000) / RETRY_MS;

/** Programs of the host that the image has. */
const programs = `bash sh env setsid sort find tar grep sed ps
  cat chmod cp cut du head id ln ls mkdir mkfifo mv nice printf rm seq
  sleep stat tail tee touch tr wc`.split(/\s+/);

/**
 * Finds the Docker or Podman service of the host, or starts one of Podman with folders of its own, and makes an image of
 * programs of the host, so that nothing comes from a network.
 *
 * @param hasNode whether the image with Perl has the Node of this process, too
 * @returns why it cannot, otherwise
 */
export async function startContainerService({ hasNode = false } = {}): Promise<ContainerService | { skipped: string }> {
  const found = findSocket();
  if (!found && !canRunPodman()) {
    return { skipped: 'No socket of Docker (DOCKER_HOST) was found, and podman with runc, as root on Linux, neither.' };
  }
  if (!find('perl')) return { skipped: 'The host has no Perl, which one of the images needs.' };
  const folder = mkdtempSync(join(tmpdir(), 'headgate-containers-'));
  const service = found ? undefined : startPodman(folder);
  const socket = found ?? join(folder, 'podman.sock');
  const stop = async (): Promise<void> => {
    for (const image of [IMAGE, PERL_IMAGE]) {
      await send(socket, 'DELETE', `/images/${image}?force=true`).catch(() => {}); // the service may be gone
    }
    if (service) {
      const ended = new Promise((resolve) => service.once('exit', resolve));
      service.kill('SIGKILL');
      await ended;
      execFileSync('podman', [...podmanFolders(folder), 'rm', '--all', '--force', '--time', '0'], { stdio: 'ignore' });
      killMonitors(folder);
      unmount(folder);
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await waitForService(socket);
    const root = join(folder, 'image');
    writeImage(root);
    await send(socket, 'POST', `/images/create?fromSrc=-&repo=${IMAGE}&tag=latest`, pack(root));
    addProgram(root, 'perl');
    for (const file of listPerlFiles()) addFile(root, file);
    if (hasNode) addNode(root);
    await send(socket, 'POST', `/images/create?fromSrc=-&repo=${PERL_IMAGE}&tag=latest`, pack(root));
    return { socket, image: `${IMAGE}:latest`, perlImage: `${PERL_IMAGE}:latest`, stop };
  } catch (error) {
    await stop();
    return { skipped: `The container service cannot be used: ${(error as Error).message}` };
  }
}

function findSocket(): string | undefined {
  const named = process.env.DOCKER_HOST?.match(/^unix:\/\/(.+)$/)?.[1];
  return [named, '/var/run/docker.sock'].find((path) => path !== undefined && existsSync(path));
}

function canRunPodman(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  return ['podman', 'runc'].every((program) => find(program) !== undefined);
}

function find(program: string): string | undefined {
  const folders = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}

const podmanFolders = (folder: string): string[] => [
  ...['--root', join(folder, 'root'), '--runroot', join(folder, 'run'), '--tmpdir', join(folder, 'tmp')],
  ...['--runtime', find('runc')!, '--cgroup-manager', 'cgroupfs', '--storage-driver', 'overlay'],
];

function startPodman(folder: string) {
  const service = ['system', 'service', '--time=0', `unix://${join(folder, 'podman.sock')}`];
  return spawn('podman', [...podmanFolders(folder), ...service], { stdio: 'ignore' });
}

/** Podman leaves a process for each exec, which runs Podman with the folder again after five minutes. */
function killMonitors(folder: string): void {
  for (const pid of globSync('[0-9]*', { cwd: '/proc' })) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${folder}/`)) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // it has ended
    }
  }
}

/** Storage leaves a mount of its folder, which cannot be removed. */
function unmount(folder: string): void {
  try {
    execFileSync('umount', ['--recursive', join(folder, 'root/overlay')], { stdio: 'ignore' });
  } catch {
    // it is not mounted
  }
}

async function waitForService(socket: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await send(socket, 'GET', '/_ping');
      return;
    } catch (error) {
      if (tries >= TRIES) throw error;
      await setTimeout(RETRY_MS);
    }
  }
}

function writeImage(root: string): void {
  for (const each of ['usr/bin', 'usr/lib', 'usr/lib64', 'etc', 'proc', 'dev', 'sys', 'run', 'var']) {
    mkdirSync(join(root, each), { recursive: true });
  }
  for (const each of ['bin', 'lib', 'lib64']) symlinkSync(`usr/${each}`, join(root, each));
  for (const each of ['tmp', 'var/tmp']) {
    mkdirSync(join(root, each));
    execFileSync('chmod', ['1777', join(root, each)]);
  }
  writeFileSync(join(root, 'etc/passwd'), 'user:x:1000:1000::/workspace/home:/bin/bash\n');
  for (const program of programs) addProgram(root, program);
}

function addProgram(root: string, program: string): void {
  const path = find(program)!;
  cpSync(realpathSync(path), join(root, 'usr/bin', program));
  for (const library of listLibraries(path)) addFile(root, library);
}

function addNode(root: string): void {
  cpSync(process.execPath, join(root, 'usr/bin/node'));
  for (const library of listLibraries(process.execPath)) addFile(root, library);
}

function addFile(root: string, path: string): void {
  const target = join(root, realpathSync(dirname(path)), path.split('/').at(-1)!);
  mkdirSync(dirname(target), { recursive: true });
  cpSync(realpathSync(path), target);
}

/** The modules that the relay of a network uses. */
function listPerlFiles(): string[] {
  const loaded = 'print "$_\\n" for values %INC, @DynaLoader::dl_shared_objects';
  const output = execFileSync(find('perl')!, ['-Mstrict', '-MSocket', '-MFcntl', '-MErrno', '-e', loaded]);
  return output.toString().trim().split('\n');
}

const pack = (root: string): Buffer =>
  execFileSync('tar', ['-C', root, '-cf', '-', '.'], { maxBuffer: 256 * 1024 * 1024 });

function listLibraries(path: string): string[] {
  const output = execFileSync('ldd', [path], { encoding: 'utf8' });
  return [...output.matchAll(/(\/\S+) \(0x/g)].map(([, library]) => library!);
}

function send(socketPath: string, method: string, path: string, body?: Buffer): Promise<void> {
  const done = Promise.withResolvers<void>();
  const headers = body && { 'content-type': 'application/x-tar', 'content-length': body.length };
  const call = request({ socketPath, method, path: `/v1.41${path}`, agent: false, headers }, (response) => {
    response.resume();
    response.once('end', () => {
      if (response.statusCode! < 300) done.resolve();
      else done.reject(new Error(`${method} ${path}: ${response.statusCode}`));
    });
  });
  call.once('error', done.reject);
  call.end(body);
  return done.promise;
}
