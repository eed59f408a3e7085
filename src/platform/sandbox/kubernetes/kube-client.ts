import { Agent, request, WebSocket } from 'undici';
import { readServiceBody, readServiceMessage, ContainerServiceError } from '../remote/container-service-error.ts';
import type { Cluster } from './find-cluster.ts';
import { parseJson } from '../../../domain/parse-json.ts';

const REQUEST_MS = 30_000;

/** A refusal of the API of a cluster, or no connection to it. */
export class KubeError extends ContainerServiceError {
  override readonly name = 'KubeError';
}

/** A client of the Kubernetes API: what sandboxes need of it. */
export class KubeClient {
  private readonly cluster: Cluster;
  private readonly agent: Agent;

  constructor(cluster: Cluster) {
    this.cluster = cluster;
    this.agent = new Agent({ connect: { ...cluster.tls, timeout: 10_000 }, allowH2: false });
  }

  get namespace(): string {
    return this.cluster.namespace;
  }

  /** @param path below the namespace, such as `pods` @throws {KubeError} */
  async call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown, group = 'api/v1'): Promise<unknown> {
    const url = `${this.cluster.url}/${group}/namespaces/${this.namespace}/${path}`;
    let status: number;
    let text: string;
    try {
      const response = await request(url, {
        method,
        dispatcher: this.agent,
        headers: { ...(await this.authorize()), accept: 'application/json', 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
        headersTimeout: REQUEST_MS,
        bodyTimeout: REQUEST_MS,
      });
      status = response.statusCode;
      text = await readServiceBody(response.body);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new KubeError(
        `The API of the cluster at ${this.cluster.url} does not respond (${code ?? message}).`,
        undefined,
        {
          cause: error,
        },
      );
    }
    if (status >= 300)
      throw new KubeError(readServiceMessage(text) ?? `The API of the cluster returned ${status}.`, status);
    try {
      return parseJson(text);
    } catch (cause) {
      throw new KubeError(`The API of the cluster at ${this.cluster.url} returned invalid JSON.`, undefined, { cause });
    }
  }

  /** Opens a stream with a process. @param path below the namespace, with the query */
  async connect(path: string): Promise<WebSocket> {
    const url = `${this.cluster.url.replace(/^http/, 'ws')}/api/v1/namespaces/${this.namespace}/${path}`;
    const socket = new WebSocket(url, {
      // Servers before 1.30 support only the second one. The gateway does not use the differences.
      protocols: ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
      headers: await this.authorize(),
      dispatcher: this.agent,
    });
    socket.binaryType = 'arraybuffer';
    const opened = Promise.withResolvers<WebSocket>();
    const timer = setTimeout(() => socket.close(), REQUEST_MS);
    socket.addEventListener('open', () => opened.resolve(socket), { once: true });
    socket.addEventListener('close', () => opened.reject(new KubeError('The cluster did not open a stream.')), {
      once: true,
    });
    socket.addEventListener('error', () => {}); // it closes next
    try {
      return await opened.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    await this.agent.destroy();
  }

  private async authorize(): Promise<Record<string, string>> {
    const token = await this.cluster.readToken();
    return token === undefined ? {} : { authorization: `Bearer ${token}` };
  }
}
