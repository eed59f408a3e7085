import { performance } from 'node:perf_hooks'; // the global is a getter
import { Cancellation } from '../domain/cancellation.ts';
import { GatewayError } from '../domain/errors.ts';
import { parseJson } from '../domain/parse-json.ts';
import type { Provider } from './provider.ts';

/** A model in the list of a provider. An absent fact is unknown. */
export interface OfferedModel {
  /** The name that requests to the provider have. */
  readonly name: string;
  readonly contextLength?: number;
  readonly output?: readonly string[];
}

/** How long a list is used, and how long a provider without one is not asked again. */
const FRESH_MS = 5 * 60_000;
const FAILED_MS = 30_000;
/** Maximum time that a provider has for its list. */
const LIST_MS = 3_000;
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_MODELS = 5_000;
const MAX_NAME_LENGTH = 200;

interface KnownList {
  models: readonly OfferedModel[];
  /** As of performance.now(). */
  freshUntil: number;
  pending: Promise<void> | undefined;
}

/** The models that providers list, kept for some minutes. A provider that fails keeps its last list. */
export class ModelLists {
  private readonly known = new WeakMap<Provider, KnownList>();

  /** Waits only for the first list of a provider. Later ones are fetched while the last one is used. Never rejects. */
  async get(provider: Provider): Promise<readonly OfferedModel[]> {
    let list = this.known.get(provider);
    const isFirst = list === undefined;
    if (!list) {
      list = { models: [], freshUntil: 0, pending: undefined };
      this.known.set(provider, list);
    }
    if (!list.pending && performance.now() >= list.freshUntil) list.pending = this.refresh(provider, list);
    if (isFirst || list.models.length === 0) await list.pending;
    return list.models;
  }

  private async refresh(provider: Provider, list: KnownList): Promise<void> {
    try {
      list.models = await requestModels(provider);
      list.freshUntil = performance.now() + FRESH_MS;
    } catch {
      list.freshUntil = performance.now() + FAILED_MS; // a request to the provider reports what is wrong with it
    }
    list.pending = undefined;
  }
}

/** @throws {GatewayError} if the server fails, or sends no list in time */
async function requestModels(provider: Provider): Promise<OfferedModel[]> {
  const { upstream, wire, name } = provider;
  if (!upstream) return [];
  const cancellation = new Cancellation();
  const timer = setTimeout(() => {
    cancellation.cancel(new GatewayError('upstream_timeout', `${name} sent no list of models within ${LIST_MS} ms.`));
  }, LIST_MS);
  try {
    const headers = provider.headersFor(provider.keys.take(), false);
    const how = { method: 'GET' } as const;
    const response = await upstream.send(wire.modelsPath ?? '/models', headers, Buffer.alloc(0), cancellation, how);
    const pieces: Buffer[] = [];
    let bytes = 0;
    await response.each({
      write(batch) {
        for (const piece of batch) {
          bytes += piece.length;
          pieces.push(piece);
        }
        if (bytes > MAX_BYTES) response.release();
        return undefined;
      },
    });
    if (response.status !== 200 || bytes > MAX_BYTES) {
      throw new GatewayError('upstream_failed', `${name} has no list of models (status ${response.status}).`);
    }
    return readOffered(parseJson(Buffer.concat(pieces).toString('utf8')));
  } finally {
    clearTimeout(timer);
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** Reads the list of any wire: `data` or `models`, of objects with an `id` or a `name`. Skips other entries. */
export function readOffered(body: unknown): OfferedModel[] {
  const { data, models } = (body ?? {}) as Fields;
  const list = [data, models, body].find(Array.isArray) ?? [];
  const found = new Map<string, OfferedModel>();
  for (const entry of list as unknown[]) {
    const fields = (entry ?? {}) as Fields;
    const named = fields['id'] ?? fields['name'];
    if (typeof named !== 'string') continue;
    const name = named.replace(/^models\//, ''); // Gemini names the resource
    if (name === '' || name.length > MAX_NAME_LENGTH) continue;
    const contextLength = contextNames.map((key) => fields[key]).find(isLength);
    const output = readOutput(fields);
    found.set(name, { name, ...(contextLength && { contextLength }), ...(output && { output }) });
    if (found.size >= MAX_MODELS) break;
  }
  return [...found.values()];
}

const contextNames = ['context_length', 'max_model_len', 'context_window', 'max_context_length', 'inputTokenLimit'];
const isLength = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;

/** The words of servers for what a model is or can do. */
const outputByWord: ReadonlyMap<string, string> = new Map([
  ['chat', 'text'],
  ['completions', 'text'],
  ['language', 'text'],
  ['llm', 'text'],
  ['vlm', 'text'],
  ['generatecontent', 'text'],
  ['embed', 'embeddings'],
  ['embedding', 'embeddings'],
  ['embeddings', 'embeddings'],
  ['embedcontent', 'embeddings'],
  ['rerank', 'rerank'],
  ['image', 'image'],
  ['predict', 'image'],
]);

/** Reads the outputs of a model. @returns undefined if the list does not say them */
function readOutput(fields: Fields): string[] | undefined {
  const { output_modalities: modalities } = (fields['architecture'] ?? {}) as Fields;
  if (Array.isArray(modalities) && modalities.length > 0) return modalities.map(String);
  const words = [fields['type'], fields['endpoints'], fields['supportedGenerationMethods']].flat();
  const outputs = words.flatMap((word) => outputByWord.get(String(word).toLowerCase()) ?? []);
  return outputs.length > 0 ? [...new Set(outputs)] : undefined;
}
