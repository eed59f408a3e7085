import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';

/** How to reach the API of a cluster. */
export interface Cluster {
  url: string;
  namespace: string;
  tls: { ca?: string; cert?: string; key?: string; servername?: string; rejectUnauthorized?: boolean };
  /** Reads the bearer token, which can change; undefined: the client certificate is enough. */
  readToken(): Promise<string | undefined>;
}

export interface ClusterSettings {
  /** Path of a kubeconfig file. */
  kubeconfig?: string;
  /** Its context. Absent: its current one. */
  context?: string;
  /** Absent: that of the context or of the gateway's own pod. */
  namespace?: string;
}

/** A configuration of a cluster that cannot be used. */
export class ClusterError extends Error {
  override readonly name = 'ClusterError';
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Finds the cluster: of the kubeconfig file, or the one in which the gateway runs. @throws {ClusterError} */
export async function findCluster(settings: ClusterSettings, env: NodeJS.ProcessEnv): Promise<Cluster> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env;
  const path = settings.kubeconfig ?? env.KUBECONFIG ?? join(homedir(), '.kube/config');
  if (settings.kubeconfig === undefined && host && existsSync(join(ACCOUNT, 'token'))) {
    return {
      url: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      namespace: settings.namespace ?? (await readFile(join(ACCOUNT, 'namespace'), 'utf8')).trim(),
      tls: { ca: await readFile(join(ACCOUNT, 'ca.crt'), 'utf8') },
      readToken: async () => (await readFile(join(ACCOUNT, 'token'), 'utf8')).trim(), // the kubelet renews it
    };
  }
  if (!existsSync(path)) {
    throw new ClusterError(
      `There is no kubeconfig file ${path}, and the gateway does not run in a cluster. Set tools.sandbox.kubernetes.kubeconfig.`,
    );
  }
  return await readKubeconfig(path, settings);
}

interface Named<Value> {
  name?: string;
  cluster?: Value;
  context?: Value;
  user?: Value;
}

type Fields = Record<string, string | boolean | object | undefined>;

interface Kubeconfig {
  'current-context'?: string;
  contexts?: Named<Fields>[];
  clusters?: Named<Fields>[];
  users?: Named<Fields>[];
}

/** @see https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/ */
async function readKubeconfig(path: string, settings: ClusterSettings): Promise<Cluster> {
  const config = (parse(await readFile(path, 'utf8')) ?? {}) as Kubeconfig; // each use checks its field
  const fail = (problem: string): never => {
    throw new ClusterError(`The kubeconfig file ${path} ${problem}.`);
  };
  const name = settings.context ?? config['current-context'];
  const context = config.contexts?.find((each) => each.name === name)?.context;
  if (!context) return fail(`has no context ${name ?? '(current-context)'}`);
  const cluster = config.clusters?.find((each) => each.name === context.cluster)?.cluster;
  const user = config.users?.find((each) => each.name === context.user)?.user ?? {};
  const server = cluster?.server;
  if (typeof server !== 'string') return fail(`has no server of the context ${name}`);
  if (user.exec || user['auth-provider']) {
    fail('gets its credentials from a program, which this gateway does not run. Use a token or a certificate');
  }
  const read = (from: Fields | undefined, field: string): Promise<string | undefined> =>
    readData(from, field, dirname(path));
  const [ca, cert, key] = await Promise.all([
    read(cluster, 'certificate-authority'),
    read(user, 'client-certificate'),
    read(user, 'client-key'),
  ]);
  const servername = cluster?.['tls-server-name'];
  const { token, tokenFile } = user;
  return {
    url: server.replace(/\/+$/, ''),
    namespace: settings.namespace ?? (typeof context.namespace === 'string' ? context.namespace : 'default'),
    tls: {
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(typeof servername === 'string' && { servername }),
      ...(cluster?.['insecure-skip-tls-verify'] === true && { rejectUnauthorized: false }),
    },
    async readToken() {
      if (typeof tokenFile === 'string') return (await readFile(resolve(dirname(path), tokenFile), 'utf8')).trim();
      return typeof token === 'string' ? token : undefined;
    },
  };
}

/** Reads a field that the file has itself, in base64, or names as a file. */
async function readData(fields: Fields | undefined, name: string, folder: string): Promise<string | undefined> {
  const data = fields?.[`${name}-data`];
  if (typeof data === 'string') return Buffer.from(data, 'base64').toString();
  const path = fields?.[name];
  return typeof path === 'string' ? await readFile(resolve(folder, path), 'utf8') : undefined;
}
