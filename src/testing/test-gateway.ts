import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../config/load.ts';
import type { ResponseEvent } from '../domain/events.ts';
import type { GatewayOptions } from '../compose/options.ts';
import { openGateway, type OpenedGateway } from '../gateway.ts';
import { openSqliteStorage } from '../platform/storage/sqlite/open.ts';

/** A whole gateway on loopback, with its own store and journal, as a client sees it. */
export interface TestGateway {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** The base URL for SDKs: `http://127.0.0.1:PORT/api/v1`. */
  readonly baseUrl: string;
  /** An inference key of the member `ada` in the workspace `main`. */
  readonly key: string;
  /** A key that acts as the organization. */
  readonly organizationKey: string;
  readonly managementKey: string;
  readonly dataDir: string;
  readonly gateway: OpenedGateway;
  /** POSTs JSON under `/api/v1` with the inference key. A string or bytes are sent unchanged. */
  post(path: string, body: unknown, options?: RequestOptions): Promise<Response>;
  get(path: string, options?: RequestOptions): Promise<Response>;
  /** Any other method. Without a body none is sent. */
  send(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<Response>;
  /** POSTs to `/responses` with `stream: true` and reads the response to its end. */
  stream(body: object, options?: RequestOptions): Promise<StreamedResponse>;
  /** Applies another configuration, like a saved file. */
  reload(config: object): Promise<void>;
  /** Stops it and removes the data folder, unless `keepData`. */
  close(options?: { keepData?: boolean }): Promise<void>;
}

export interface RequestOptions {
  headers?: Record<string, string>;
  /** Another key. Null: no key is sent. */
  key?: string | null;
  signal?: AbortSignal;
}

export interface StreamedResponse {
  status: number;
  headers: Headers;
  events: ResponseEvent[];
  /** Whether the stream ended with `[DONE]`. */
  done: boolean;
  /** Comment lines, without the colon. */
  comments: string[];
  /** The body, unchanged. */
  text: string;
}

export const testKeys = {
  key: 'test-inference-key-0001',
  organizationKey: 'test-organization-key-1',
  managementKey: 'test-management-key-001',
};

/**
 * Starts a gateway.
 *
 * @param parts of the configuration file; `bootstrap` is added to that of a test gateway. Without `providers` the
 *   simulator responds. A failed attempt is final unless `retry` says otherwise, so that a test scripts every attempt
 * @param dataDir a folder of an earlier test gateway; absent: a new one
 * @param ports replace those of the configuration. A short `gatherMs` is for tests that wait for single records
 */
export async function testGateway(
  parts: Record<string, unknown> = {},
  dataDir?: string,
  ports: Pick<
    GatewayOptions,
    | 'alertMs'
    | 'consoleFolder'
    | 'containers'
    | 'exportMs'
    | 'gatherMs'
    | 'internRuntime'
    | 'internTimes'
    | 'internVaults'
  > = {},
): Promise<TestGateway> {
  const folder = dataDir ?? mkdtempSync(join(tmpdir(), 'headgate-test-'));
  const isEmbedded = parts['storage'] === undefined;
  if (dataDir === undefined && isEmbedded)
    writeFileSync(join(folder, databaseName), await readEmptyDatabase(), { mode: 0o600 });
  const gateway = await openGateway({
    config: readParts(parts, folder),
    dataDir: folder,
    ownsProcess: true,
    ...ports,
  });
  const { url } = await gateway.start();
  const baseUrl = `${url}/api/v1`;
  const send = (method: string, path: string, body: unknown, { headers, key, signal }: RequestOptions = {}) =>
    fetch(path.startsWith('/api') || path === '/health' || path === '/ready' ? url + path : baseUrl + path, {
      method,
      headers: {
        ...(key === null ? undefined : { authorization: `Bearer ${key ?? testKeys.key}` }),
        ...(body === undefined ? undefined : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? undefined
        : { body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body) }),
      ...(signal === undefined ? undefined : { signal }),
    });

  return {
    url,
    baseUrl,
    ...testKeys,
    dataDir: folder,
    gateway,
    post: (path, body, options) => send('POST', path, body, options),
    get: (path, options) => send('GET', path, undefined, options),
    send,
    async stream(body, options) {
      const response = await send('POST', '/responses', { ...body, stream: true }, options);
      return readStream(response);
    },
    reload: (next) => gateway.reload(readParts(next as Record<string, unknown>, folder)),
    async close({ keepData = false } = {}) {
      await gateway.close();
      if (!keepData) rmSync(folder, { recursive: true, force: true });
    },
  };
}

const databaseName = 'headgate.db';
let emptyDatabase: Promise<Buffer> | undefined;

/** Returns the database of a first start. The migrations run once per process: they take half the time of a start. */
function readEmptyDatabase(): Promise<Buffer> {
  emptyDatabase ??= createEmptyDatabase();
  return emptyDatabase;
}

async function createEmptyDatabase(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-test-'));
  const path = join(folder, databaseName);
  const storage = await openSqliteStorage(path);
  await storage.migrate();
  await storage.close();
  const bytes = readFileSync(path);
  rmSync(folder, { recursive: true, force: true });
  return bytes;
}

function readParts(parts: Record<string, unknown>, folder: string) {
  const { server, log, bootstrap, ...rest } = parts as Record<string, Record<string, unknown>>;
  const file = join(folder, 'test.json');
  const workspace = { id: '00000000-0000-4000-8000-0000000000a1', name: 'main' };
  const other = { id: '00000000-0000-4000-8000-0000000000a2', name: 'other' };
  writeFileSync(
    file,
    JSON.stringify({
      retry: { attempts: 1 },
      ...rest,
      server: { port: 0, shutdown_grace_ms: 2000, ...server },
      log: { level: 'silent', ...log },
      bootstrap: {
        workspaces: [workspace, other, ...((bootstrap?.['workspaces'] as object[] | undefined) ?? [])],
        members: [{ id: 'ada', workspaces: ['main'] }, ...((bootstrap?.['members'] as object[] | undefined) ?? [])],
        keys: [
          { key: testKeys.key, name: 'app', workspace: 'main', member: 'ada' },
          { key: testKeys.organizationKey, name: 'org', workspace: 'main', acts_as: 'organization' },
          { key: testKeys.managementKey, name: 'admin', kind: 'management' },
          ...((bootstrap?.['keys'] as object[] | undefined) ?? []),
        ],
        guardrails: bootstrap?.['guardrails'] ?? [],
      },
    }),
  );
  return loadConfig({ file, env: {}, flags: { data: folder } }).config;
}

/** Reads a streamed response to its end. A truncated body returns the part that arrived. */
export async function readStream(response: Response): Promise<StreamedResponse> {
  const text = await response.text();
  const answer: StreamedResponse = {
    status: response.status,
    headers: response.headers,
    events: [],
    done: false,
    comments: [],
    text,
  };
  for (const frame of text.split('\n\n')) {
    if (frame.startsWith(':')) answer.comments.push(frame.slice(1).trim());
    else if (frame === 'data: [DONE]') answer.done = true;
    else if (frame.startsWith('data: ')) answer.events.push(JSON.parse(frame.slice(6)) as ResponseEvent);
  }
  return answer;
}
