import { get } from 'node:http';
import { knownProviders } from './known-providers.ts';
import type { LoadedConfig } from './load.ts';
import type { ProviderConfig } from './schema.ts';
import { parseJson } from '../domain/parse-json.ts';

/** A model server on this machine, at its default address. */
export interface LocalServer {
  id: string;
  name: string;
  /** Includes the version. */
  baseUrl: string;
}

export interface FoundServer extends LocalServer {
  /** Ids of its models. May be empty. */
  models: string[];
}

/** The known providers that run on this machine. */
export const localServers: readonly LocalServer[] = knownProviders.flatMap(({ id, name, baseUrl }) =>
  baseUrl?.startsWith('http://127.0.0.1:') ? [{ id, name, baseUrl }] : [],
);

const MAX_BYTES = 1024 * 1024;

/** Requests the models of each server once. Skips servers that fail, exceed the timeout or return no valid list. */
export async function findLocalServers(servers: readonly LocalServer[], timeoutMs = 800): Promise<FoundServer[]> {
  const found = await Promise.all(servers.map((server) => requestModels(server, timeoutMs)));
  return found.filter((server) => server !== undefined);
}

/**
 * Returns the ids in a list of models. Other programs use these ports as well, so the list must be valid in every
 * detail.
 *
 * @returns undefined if it is not a list of models
 */
export function readModels(body: unknown): string[] | undefined {
  const { object, data } = (body ?? {}) as { object?: unknown; data?: unknown };
  if (object !== 'list' || !Array.isArray(data)) return undefined;
  const ids = data.map((model) => (model?.object === 'model' && typeof model.id === 'string' ? model.id : undefined));
  return ids.every((id) => id !== undefined) ? ids : undefined;
}

function requestModels(server: LocalServer, timeoutMs: number): Promise<FoundServer | undefined> {
  return new Promise((resolve) => {
    const request = get(
      `${server.baseUrl}/models`,
      { agent: false, signal: AbortSignal.timeout(timeoutMs) },
      (answer) => {
        const pieces: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (piece: Buffer) => {
          bytes += piece.length;
          if (bytes > MAX_BYTES) answer.destroy();
          else pieces.push(piece);
        });
        answer.on('end', () => {
          const models = answer.statusCode === 200 ? readModels(parse(Buffer.concat(pieces).toString())) : undefined;
          resolve(models && { ...server, models });
        });
        answer.on('close', () => resolve(undefined)); // after `end` it changes nothing
        answer.on('error', () => resolve(undefined));
      },
    );
    request.on('error', () => resolve(undefined));
  });
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Returns the servers that are not configured. */
export function findUnconfigured({ config }: LoadedConfig, servers: readonly LocalServer[]): LocalServer[] {
  if (!config.catalog.auto_discover) return [];
  const taken = new Set(config.providers.flatMap(({ id, base_url: url }) => [id, url && new URL(url).host]));
  return servers.filter(({ id, baseUrl }) => !taken.has(id) && !taken.has(new URL(baseUrl).host));
}

/** Adds the found servers to the configuration. If there are any, they replace the default simulator. */
export function withLocalServers(loaded: LoadedConfig, found: readonly FoundServer[]): LoadedConfig {
  if (found.length === 0) return loaded;
  const configured = loaded.isBare ? [] : loaded.config.providers;
  const providers = [...configured, ...found.map(describe)];
  return {
    ...loaded,
    config: Object.freeze({ ...loaded.config, providers: Object.freeze(providers) as ProviderConfig[] }),
  };
}

/** Lists its models, and a wildcard for models that it gets later. */
function describe({ id, name, baseUrl, models }: FoundServer): ProviderConfig {
  const { wire, dialect, urls } = knownProviders.find((known) => known.id === id)!; // `localServers` are from this list
  return Object.freeze({
    id,
    name,
    wire,
    dialect,
    ...(urls === undefined ? undefined : { urls }),
    base_url: baseUrl,
    models: [...models.map((model) => ({ model: `${id}/${model}`, upstream_model: model })), { model: `${id}/*` }],
  });
}
