import { type ChildProcess, spawn } from 'node:child_process';
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
  policies: Map<string, unknown>;
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
}

interface PodBody {
  metadata: {
    name?: string;
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
const MAX_TRIES = 1000;
const PROTOCOL = 'v5.channel.k8s.io';

export async function startTestCluster(): Promise<TestCluster> {
  const cluster: TestCluster = {
    url: '',
    token: randomUUID(),
    pods: new Map(),
    policies: new Map(),
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
    if (action === 'exec') runInPod(pod.first, url.searchParams.getAll('command'), stream);
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
    const policy = (await json(request)) as { metadata: { name: string } };
    cluster.policies.set(policy.metadata.name, policy);
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
  }
  return { status: 200, body: describePodState(pod) };
}

const describePodState = ({ body, status }: TestPod) => ({ ...body, status });

async function createPod(cluster: TestCluster, body: PodBody): Promise<unknown> {
  const name = body.metadata.generateName + randomUUID().slice(0, 8);
  const pod: TestPod = { body: { ...body, metadata: { ...body.metadata, name } }, status: { phase: 'Pending' } };
  cluster.pods.set(name, pod);
  if (cluster.startStatus) pod.status = cluster.startStatus as TestPod['status'];
  else void startPod(pod);
  return describePodState(pod);
}

async function startPod(pod: TestPod): Promise<void> {
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

function runInPod(first: number, command: string[], stream: ServerSocket): void {
  const namespaces = ['--user', '--preserve-credentials', '--mount', '--pid', '--ipc', '--net', '--uts'];
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
