import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { json, text as readText } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { acceptWebSocket, type ServerSocket } from './web-socket-server.ts';

/** A Kubernetes API on the loopback, which runs pods with bubblewrap. It has what sandboxes use. */
export interface TestCluster {
  url: string;
  token: string;
  /** Pods as they were created, by name. */
  pods: Map<string, TestPod>;
  policies: Map<string, TestPolicy>;
  /** Whether pods have only the network that a policy permits. Pods with a network have that of the host. */
  enforcesPolicies: boolean;
  /** Requests so far: method and path. */
  requests: string[];
  /** The status of pods that are created from now on, instead of running. */
  startStatus: unknown;
  close(): Promise<void>;
}

interface TestPod {
  body: PodBody;
  status: Record<string, unknown>;
  keeper?: ChildProcess;
  /** Process id of the first process in the pod. */
  first?: number;
  hasNetwork: boolean;
}

interface TestPolicy {
  metadata: { name: string; ownerReferences?: { uid: string }[] };
  spec: { podSelector: { matchLabels: Record<string, string> }; egress?: unknown[]; ingress?: unknown[] };
}

interface PodBody {
  metadata: {
    name?: string;
    uid?: string;
    generateName: string;
    labels: Record<string, string>;
    annotations: Record<string, string>;
  };
  spec: {
    securityContext: { runAsUser: number };
    containers: { command: string[] }[];
    volumes: { name: string; emptyDir: { sizeLimit: string } }[];
  };
}

const NAMESPACE = 'sandboxes';
/** Label of pods that may reach the egress proxy. */
const NETWORK_LABEL = 'headgate.egress';
const MAX_TRIES = 1000;
const PROTOCOL = 'v5.channel.k8s.io';

/** @returns why pods cannot run here */
export function canRunPods({ hasNode = false } = {}): string | undefined {
  const isolated = ['--unshare-all', '--unshare-user', '--ro-bind', '/', '/', 'nsenter', '--version'];
  if (hasNode && !existsSync('/usr/bin/node'))
    return 'The pods of the tests have the programs of this host, which has no /usr/bin/node.';
  if (spawnSync('bwrap', isolated).status === 0) return undefined;
  return 'The pods of the tests run with bwrap and nsenter, which do not work here.';
}

/** Writes a kubeconfig file for the cluster. @param user as YAML */
export const writeKubeconfig = (
  { url, token }: Pick<TestCluster, 'url' | 'token'>,
  user = `token: ${token}`,
): string => `
current-context: test
contexts: [{ name: test, context: { cluster: local, user: gateway, namespace: ${NAMESPACE} } }]
clusters: [{ name: local, cluster: { server: ${url} } }]
users: [{ name: gateway, user: { ${user} } }]
`;

export async function startTestCluster(): Promise<TestCluster> {
  const cluster: TestCluster = {
    url: '',
    token: randomUUID(),
    pods: new Map(),
    policies: new Map(),
    enforcesPolicies: true,
    requests: [],
    startStatus: undefined,
    async close() {
      for (const pod of cluster.pods.values()) endPod(pod);
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const server = createServer(async (request, response) => {
    cluster.requests.push(`${request.method} ${request.url}`);
    const { status, body } = await respond(cluster, request).catch((error: Error) => fault(500, error.message));
    sendJson(response, status, body);
  });
  server.on('upgrade', (request, socket) => {
    cluster.requests.push(`${request.method} ${request.url}`);
    const url = new URL(request.url!, 'http://cluster');
    const [, name, action] = /\/pods\/([^/]+)\/(exec|attach)$/.exec(url.pathname) ?? [];
    const pod = isAllowed(cluster, request) ? cluster.pods.get(name ?? '') : undefined;
    const protocols = String(request.headers['sec-websocket-protocol']).split(', ');
    if (!pod?.first || !protocols.includes(PROTOCOL)) {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
      return;
    }
    const stream = acceptWebSocket(request, socket, PROTOCOL);
    if (action === 'exec') runInPod(pod, url.searchParams.getAll('command'), stream);
    else stream.onMessage((message) => pod.keeper!.stdin!.write(message.subarray(1)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cluster.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // listens on TCP
  return cluster;
}

const isAllowed = ({ token }: TestCluster, { headers }: IncomingMessage): boolean =>
  headers.authorization === `Bearer ${token}`;

const fault = (code: number, message: string) => ({
  status: code,
  body: { kind: 'Status', status: 'Failure', message, code },
});

async function respond(cluster: TestCluster, request: IncomingMessage): Promise<{ status: number; body: unknown }> {
  const url = new URL(request.url!, 'http://cluster');
  if (!isAllowed(cluster, request)) return fault(401, 'Unauthorized');
  const [, kind, name] =
    new RegExp(`/namespaces/${NAMESPACE}/(pods|networkpolicies)(?:/([^/]+))?$`).exec(url.pathname) ?? [];
  if (kind === 'networkpolicies') {
    if (request.method === 'GET') {
      const policy = cluster.policies.get(name!);
      return policy ? { status: 200, body: policy } : fault(404, 'not found');
    }
    const policy = (await json(request)) as TestPolicy;
    if (cluster.policies.has(policy.metadata.name)) return fault(409, 'already exists');
    cluster.policies.set(policy.metadata.name, policy);
    for (const pod of cluster.pods.values()) if (isPermitted(policy, pod)) void startPod(pod, true);
    return { status: 201, body: policy };
  }
  if (kind !== 'pods') return fault(404, 'the server could not find the requested resource');
  if (request.method === 'POST')
    return { status: 201, body: await createPod(cluster, (await json(request)) as PodBody) };
  if (name === undefined) {
    const [key, value] = (url.searchParams.get('labelSelector') ?? '').split('=');
    const pods = [...cluster.pods.values()].filter(({ body }) => !key || body.metadata.labels[key] === value);
    return { status: 200, body: { items: pods.map(describePodState) } };
  }
  const pod = cluster.pods.get(name);
  if (!pod) return fault(404, `pods "${name}" not found`);
  if (request.method === 'DELETE') {
    endPod(pod);
    cluster.pods.delete(name);
    const isOwned = ({ metadata }: TestPolicy) =>
      metadata.ownerReferences?.some(({ uid }) => uid === pod.body.metadata.uid) === true;
    for (const [key, policy] of cluster.policies) if (isOwned(policy)) cluster.policies.delete(key);
  }
  return { status: 200, body: describePodState(pod) };
}

const describePodState = ({ body, status }: TestPod) => ({ ...body, status });

async function createPod(cluster: TestCluster, body: PodBody): Promise<unknown> {
  const name = body.metadata.generateName + randomUUID().slice(0, 8);
  const pod: TestPod = {
    body: { ...body, metadata: { ...body.metadata, name, uid: randomUUID() } },
    status: { phase: 'Pending' },
    hasNetwork: false,
  };
  cluster.pods.set(name, pod);
  if (cluster.startStatus) pod.status = cluster.startStatus as TestPod['status'];
  else if (!cluster.enforcesPolicies) void startPod(pod, true);
  else if (!body.metadata.labels[NETWORK_LABEL]) void startPod(pod, false); // others wait for their policy
  return describePodState(pod);
}

/** Whether a policy lets a pod connect to something. */
function isPermitted({ spec }: TestPolicy, { body, first }: TestPod): boolean {
  const wanted = Object.entries(spec.podSelector.matchLabels);
  const isSelected = wanted.every(([key, value]) => body.metadata.labels[key] === value);
  return isSelected && first === undefined && (spec.egress ?? []).length > 0;
}

async function startPod(pod: TestPod, hasNetwork: boolean): Promise<void> {
  pod.hasNetwork = hasNetwork;
  const { securityContext, containers, volumes } = pod.body.spec;
  const user = String(securityContext.runAsUser);
  const size = (name: string): string => volumes.find((each) => each.name === name)!.emptyDir.sizeLimit;
  const folders = [
    ...['--ro-bind', '/usr', '/usr', '--symlink', 'usr/bin', '/bin', '--symlink', 'usr/lib', '/lib'],
    ...['--symlink', 'usr/lib64', '/lib64', '--proc', '/proc', '--dev', '/dev'],
    ...['--perms', '0777', '--size', size('workspace'), '--tmpfs', '/workspace'],
    ...['--perms', '1777', '--size', size('temporary'), '--tmpfs', '/tmp', '--remount-ro', '/'],
  ];
  const isolation = [
    '--unshare-all',
    '--unshare-user',
    ...(hasNetwork ? ['--share-net'] : []),
    '--uid',
    user,
    '--gid',
    user,
    '--as-pid-1',
    '--die-with-parent',
  ];
  const keeper = spawn(
    'bwrap',
    [...isolation, ...folders, '--chdir', '/', '--info-fd', '3', ...containers[0]!.command],
    {
      stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
      env: { PATH: process.env.PATH },
    },
  );
  pod.keeper = keeper;
  keeper.stdin!.on('error', () => {}); // it has ended
  keeper.once('exit', () => {
    pod.first = undefined as never;
    if (pod.status.phase === 'Running') pod.status = { phase: 'Failed' };
  });
  const started = await readText(keeper.stdio[3] as Readable); // a pipe
  const first = (JSON.parse(started) as { 'child-pid': number })['child-pid'];
  // The process exists before its file systems do. The keeper makes this folder.
  for (let tries = 0; !existsSync(`/proc/${first}/root/workspace/home`); tries++) {
    if (tries === MAX_TRIES) throw new Error('The pod did not start.');
    await setTimeout(10);
  }
  pod.first = first;
  pod.status = { phase: 'Running' };
}

function endPod({ keeper }: TestPod): void {
  keeper?.kill('SIGKILL');
}

function runInPod({ first, hasNetwork }: TestPod, command: string[], stream: ServerSocket): void {
  const namespaces = ['--user', '--preserve-credentials', '--mount', '--pid', '--ipc', '--uts'];
  if (!hasNetwork) namespaces.push('--net');
  const child = spawn('nsenter', ['--target', String(first), ...namespaces, '--root', '--wd', '--', ...command], {
    stdio: 'pipe',
    env: { PATH: process.env.PATH },
  });
  child.stdin.on('error', () => {}); // it has ended
  child.stdout.on('data', (bytes: Buffer) => stream.send(Buffer.concat([Buffer.of(1), bytes])));
  child.stderr.on('data', (bytes: Buffer) => stream.send(Buffer.concat([Buffer.of(2), bytes])));
  stream.onMessage((message) => {
    if (message[0] === 0) child.stdin.write(message.subarray(1));
  });
  stream.onClose(() => child.stdin.end());
  child.once('close', (code) => {
    stream.send(
      Buffer.concat([Buffer.of(3), Buffer.from(JSON.stringify({ status: code === 0 ? 'Success' : 'Failure' }))]),
    );
    stream.close();
  });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
