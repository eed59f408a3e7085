import { lstatSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type NetworkRelay, PROXY_SOCKET, writeProxyEnvironment } from '../network-relay.ts';
import { GATEWAY_NODE, SANDBOX_HOME } from '../sandbox.ts';
import type { HiddenPath } from './list-hidden-paths.ts';

/** Where commands find what the gateway wrote for them. Read-only. */
export const CONTROL_FOLDER = '/run/headgate';
/** The user in the sandbox. */
export const SANDBOX_USER_ID = 1000;
export const SANDBOX_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const MAX_SHARED_MEMORY_BYTES = 67_108_864;

export interface ArgumentParts {
  /** Folders of the host. `etc`: with the files of `writeEtc`. `empty`: replaces hidden folders. */
  folders: { home: string; control: string; etc: string; empty: string };
  hidden: readonly HiddenPath[];
  temporaryBytes: number;
  /** File descriptors of the new process. */
  descriptors: { filter: number; info: number; block: number };
  /** The program of process 1, with its arguments. */
  program: readonly string[];
  /** Unix socket of the egress proxy on the host, and what programs need to reach it. */
  network?: { proxySocket: string; relay: NetworkRelay };
  /** Whether the sandbox has the `node` of the gateway. */
  hasNode?: boolean;
}

/** Returns the arguments of `bwrap`. */
export function writeArguments(parts: ArgumentParts): string[] {
  const { folders, descriptors, temporaryBytes } = parts;
  const sharedBytes = Math.min(temporaryBytes, MAX_SHARED_MEMORY_BYTES);
  return [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent', '--new-session', '--as-pid-1'],
    ...['--uid', String(SANDBOX_USER_ID), '--gid', String(SANDBOX_USER_ID), '--hostname', 'sandbox'],
    ...['--cap-drop', 'ALL', '--seccomp', String(descriptors.filter)],
    ...['--info-fd', String(descriptors.info), '--block-fd', String(descriptors.block)],
    '--clearenv',
    ...Object.entries({ ...sandboxEnvironment, ...(parts.network && writeProxyEnvironment()) }).flatMap(
      ([name, value]) => ['--setenv', name, value],
    ),
    ...['--ro-bind', '/usr', '/usr'],
    ...parts.hidden.flatMap(({ path, isFolder }) => ['--ro-bind', isFolder ? folders.empty : '/dev/null', path]),
    ...showTopFolders(),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...['--perms', '1777', '--size', String(sharedBytes), '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...['--perms', '1777', '--size', String(temporaryBytes), '--tmpfs', '/tmp'],
    ...['/etc', '/etc/ssl', '/run', '/var', '/workspace'].flatMap((path) => ['--perms', '0755', '--dir', path]),
    ...ownEtc.flatMap((name) => ['--ro-bind', `${folders.etc}/${name}`, `/etc/${name}`]),
    ...sharedEtc.flatMap((path) => ['--ro-bind-try', path, path]),
    ...['--symlink', '/tmp', '/var/tmp', '--bind', folders.home, SANDBOX_HOME],
    ...['--ro-bind', folders.control, CONTROL_FOLDER],
    ...mountNetwork(parts.network),
    ...(parts.hasNode && !parts.network?.relay.mount ? ['--ro-bind', process.execPath, GATEWAY_NODE] : []),
    ...['--remount-ro', '/', '--chdir', SANDBOX_HOME, '--', ...parts.program],
  ];
}

function mountNetwork(network: ArgumentParts['network']): string[] {
  if (!network) return [];
  const { proxySocket, relay } = network;
  return ['--ro-bind', proxySocket, PROXY_SOCKET, ...(relay.mount ? ['--ro-bind', ...relay.mount] : [])];
}

/** The environment of commands. */
const sandboxEnvironment = {
  PATH: SANDBOX_PATH,
  HOME: SANDBOX_HOME,
  USER: 'sandbox',
  LOGNAME: 'sandbox',
  SHELL: '/bin/bash',
  LANG: 'C.UTF-8',
  TMPDIR: '/tmp',
};

/** Files of `/etc` that the gateway writes. */
const etcFiles = {
  passwd: `root:x:0:0:root:/nonexistent:/usr/sbin/nologin\nsandbox:x:${SANDBOX_USER_ID}:${SANDBOX_USER_ID}::${SANDBOX_HOME}:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n`,
  group: `root:x:0:\nsandbox:x:${SANDBOX_USER_ID}:\nnogroup:x:65534:\n`,
  hostname: 'sandbox\n',
  hosts: '127.0.0.1 localhost sandbox\n::1 localhost\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nshadow: files\nhosts: files\n',
  'resolv.conf': '',
};
const ownEtc = Object.keys(etcFiles);

/** Public files of the host's `/etc` that programs need: alternatives, the linker's cache, certificates, time, fonts. */
export const sharedEtc: readonly string[] = [
  '/etc/alternatives',
  '/etc/ld.so.cache',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/pki/tls/certs',
  '/etc/pki/ca-trust/extracted',
  '/etc/ca-certificates/extracted',
  '/etc/localtime',
  '/etc/timezone',
  '/etc/mime.types',
  '/etc/fonts',
  '/etc/perl',
];

/** Shows `/bin` and its like as the host has them: links into `/usr`, or folders. */
function showTopFolders(): string[] {
  return ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap((path) => {
    const status = lstatSync(path, { throwIfNoEntry: false });
    if (!status) return [];
    return status.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
  });
}

/** Writes the files of the sandbox's `/etc` that all sandboxes share. */
export function writeEtc(folder: string): void {
  for (const [name, text] of Object.entries(etcFiles)) writeFileSync(join(folder, name), text, { mode: 0o644 });
}
