import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { FastifyPluginCallback } from 'fastify';
import { checkWrittenDialect } from './compose/check-dialect.ts';
import type { Environment } from './config/environment.ts';
import { loadConfig } from './config/load.ts';
import type { Config } from './config/schema.ts';
import { type FirstKeys, type Front, openGateway } from './gateway.ts';
import { createFetchHandler, type FetchHandler } from './http/fetch-handler.ts';

/*
 * The gateway as a library, published as `headgate`. It opens no port, prints nothing, and changes nothing of the process.
 *
 * @see docs/guides/library.md
 */

/** The settings of a gateway in another program. */
export interface LibraryOptions {
  /**
   * The settings of `headgate.yaml`, as an object or as the path of a file. Absent: the defaults. `${NAME}` in a text stands for a
   * variable. `server.host`, `server.port` and `server.workers` have no effect.
   */
  config?: string | Readonly<Record<string, unknown>>;
  /** The variables for `${NAME}`, the keys of providers and `HEADGATE_…`. Absent: those of the process. */
  env?: Environment;
  /**
   * The folder of the embedded store, the journal and the master key, which is created and locked. Absent: a temporary one, which
   * `close` removes.
   */
  dataDir?: string;
  /** Receives each line of the log, as JSON. Absent: there is no log. */
  log?: (line: string) => void;
}

/** A gateway in another program. */
export interface Gateway {
  /** Serves a request of a `node:http` server, on every path below `/api`, `/health`, `/ready` and `/metrics`. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Serves the upgrade of a `node:http` server, for responses over WebSocket. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Serves a web `Request`. */
  fetch: FetchHandler;
  /** Serves all paths below the prefix of a Fastify plugin. */
  fastify: FastifyPluginCallback;
  /** The first keys, if the store had no keys. Their text is not stored. */
  readonly firstKeys: FirstKeys | undefined;
  /**
   * Applies another configuration, except for addresses, the store and secrets.
   *
   * @throws {Error} with all problems; the previous configuration then stays in use
   */
  reload(config: LibraryOptions['config']): Promise<void>;
  /** Rejects new requests, gives those in flight `server.shutdown_grace_ms` to end, stores all records and closes. */
  close(): Promise<void>;
}

/**
 * Creates a gateway that does not listen.
 *
 * @throws {Error} with all problems of the configuration, or if the folder or the store is unavailable
 */
export async function createGateway({
  config,
  env = process.env,
  dataDir,
  log,
}: LibraryOptions = {}): Promise<Gateway> {
  const folder = dataDir ?? mkdtempSync(join(tmpdir(), 'headgate-'));
  const removeFolder = (): void => {
    if (dataDir === undefined) rmSync(folder, { recursive: true, force: true });
  };
  const load = (from: LibraryOptions['config']) =>
    loadConfig({
      ...(typeof from === 'string' ? { file: from } : { file: null, tree: from ?? {} }),
      env,
      flags: { data: folder },
      checkDialect: checkWrittenDialect,
    });
  const open = (loaded: { config: Config; file: string | undefined }) =>
    openGateway({ ...loaded, dataDir: folder, ownsProcess: false, writeLog: log ?? (() => {}) });
  try {
    const gateway = await open(load(config));
    const front = await gateway.startBehind();
    return {
      handle: front.handle,
      upgrade: front.upgrade,
      fetch: createFetchHandler(front.connect),
      fastify: createFastifyPlugin(front),
      firstKeys: await gateway.createFirstKeys(),
      reload: async (next) => gateway.reload(load(next).config),
      async close() {
        await gateway.close();
        removeFolder();
      },
    };
  } catch (error) {
    removeFolder();
    throw error;
  }
}

/** Bodies reach the gateway unread, because it checks and bounds them itself. */
const createFastifyPlugin =
  ({ handle, upgrade }: Front): FastifyPluginCallback =>
  (app, _options, done) => {
    const { prefix } = app;
    /** Removes the prefix of the plugin. @returns undefined: the path is not below it */
    const findPath = (url = '/'): string | undefined =>
      url.startsWith(`${prefix}/`) ? url.slice(prefix.length) : undefined;
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, _payload, read) => read(null));
    app.all('/*', (request, reply) => {
      reply.hijack();
      request.raw.url = findPath(request.raw.url) ?? request.raw.url!;
      handle(request.raw, reply.raw);
    });
    app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const path = findPath(request.url);
      if (!path?.startsWith('/api/')) return; // it is for another plugin
      request.url = path;
      upgrade(request, socket, head);
    });
    done();
  };
